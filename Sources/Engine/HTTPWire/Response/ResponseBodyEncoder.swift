import Basics

/// Writes the body of a streamed response, piece by piece.
public struct ResponseBodyEncoder: Sendable {
    enum Framing {
        case chunked
        /// Unframed, up to the end of the connection.
        case connection
        /// The response has no body: HEAD, 204, 304.
        case absent
    }

    private let framing: Framing

    init(_ framing: Framing) {
        self.framing = framing
    }

    /// Writes a piece of the body. Ignores an empty one, because an empty chunk would be the last (RFC 9112 section
    /// 7.1).
    public func encode(_ piece: Span<UInt8>, into buffer: inout [UInt8]) {
        guard !piece.isEmpty else { return }
        switch framing {
        case .chunked:
            buffer.appendShortHex(UInt(piece.count))
            buffer.append("\r\n")
            buffer.append(piece)
            buffer.append("\r\n")
        case .connection: buffer.append(piece)
        case .absent: break
        }
    }

    /// Ends the body. Do not call it for a stream that failed: the missing last chunk reports the failure to the
    /// client.
    public func encodeEnd(into buffer: inout [UInt8]) {
        if framing == .chunked { buffer.append("0\r\n\r\n") }
    }
}
