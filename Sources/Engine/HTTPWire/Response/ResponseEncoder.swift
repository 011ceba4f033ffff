import Basics
public import HTTPTypes

/// Encodes the response to one request (RFC 9112): appends status line, fields and body to a buffer, so that one write
/// can send all of them.
///
/// If encoding fails, the buffer is unchanged.
public struct ResponseEncoder: Sendable {
    /// Whether the connection may serve another request after this response.
    public private(set) var isKeepAlive: Bool

    private let isHead: Bool
    private let version: HTTPVersion

    /// - Parameter isKeepAlive: false makes this the connection's last response, whatever the client prefers.
    public init(for request: RequestHead, isKeepAlive: Bool = true) {
        self.isKeepAlive = isKeepAlive && request.isKeepAlive
        self.isHead = request.method == .head
        self.version = request.version
    }

    private init() {
        self.isKeepAlive = false
        self.isHead = false
        self.version = .http11
    }

    /// The encoder for a request that could not be parsed; its response is the connection's last.
    public static var closing: ResponseEncoder { ResponseEncoder() }
}

extension ResponseEncoder {
    /// Writes a whole response.
    ///
    /// Content-Length is the length of `body`. The response to HEAD has the same Content-Length but no body (RFC 9110
    /// section 9.3.2). A response of status 204, 205 or 304 never has a body.
    ///
    /// - Parameters:
    ///   - date: the value of Date, an IMF-fixdate (RFC 9110 section 5.6.7) that the caller renders once a second.
    ///   - more: appends the caller's own complete and valid field lines, which saves creating fields for them.
    public func encode(
        _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], body: Span<UInt8>, date: [UInt8],
        more: (inout [UInt8]) -> Void = { _ in }, into buffer: inout [UInt8]
    ) throws(ResponseError) {
        let bodyFollows = try encodeHead(
            status, fields, bodyByteCount: body.count, date: date, more: more, into: &buffer)
        if bodyFollows { buffer.append(body) }
    }

    /// Writes the head of a response whose body the caller sends after it.
    ///
    /// - Returns: whether the body follows: not to HEAD, and not with status 204, 205 or 304.
    public func encodeHead(
        _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], bodyByteCount: Int, date: [UInt8],
        more: (inout [UInt8]) -> Void = { _ in }, into buffer: inout [UInt8]
    ) throws(ResponseError) -> Bool {
        try encodeHead(status, fields, date: date, more: more, into: &buffer)
        let content = ResponseContent(status)
        switch content {
        case .allowed: buffer.appendContentLength(bodyByteCount)
        case .empty: buffer.appendContentLength(0)
        case .none: break
        }
        buffer.append("\r\n")
        return content == .allowed && !isHead
    }

    /// Writes a response without a body.
    public func encode(
        _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], date: [UInt8],
        more: (inout [UInt8]) -> Void = { _ in }, into buffer: inout [UInt8]
    ) throws(ResponseError) {
        try encode(status, fields, body: Span(), date: date, more: more, into: &buffer)
    }

    /// Writes the head of a response of unknown length, and returns the encoder of its body.
    ///
    /// HTTP/1.0 has no chunks: the body ends with the connection, so `isKeepAlive` becomes false (RFC 9112 section
    /// 6.3).
    public mutating func encodeStream(
        _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], date: [UInt8],
        more: (inout [UInt8]) -> Void = { _ in }, into buffer: inout [UInt8]
    ) throws(ResponseError) -> ResponseBodyEncoder {
        guard ResponseContent(status) == .allowed else {
            try encode(status, fields, date: date, more: more, into: &buffer)
            return ResponseBodyEncoder(.absent)
        }
        var framing = ResponseBodyEncoder.Framing.chunked
        if version == .http10 {
            isKeepAlive = false
            framing = .connection
        }
        try encodeHead(status, fields, date: date, more: more, into: &buffer)
        buffer.append(framing == .chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n")
        return ResponseBodyEncoder(isHead ? .absent : framing)
    }

    /// Writes the interim response that a client expects before it sends its body (RFC 9110 section 10.1.1).
    public static func encodeContinue(into buffer: inout [UInt8]) {
        buffer.append("HTTP/1.1 100 Continue\r\n\r\n")
    }
}

extension ResponseEncoder {
    /// The head, without the fields that frame the body and without the empty line.
    private func encodeHead(
        _ status: HTTPResponse.Status, _ fields: HTTPFields, date: [UInt8], more: (inout [UInt8]) -> Void,
        into buffer: inout [UInt8]
    ) throws(ResponseError) {
        let count = buffer.count
        do {
            try buffer.appendStatusLine(status)
            try buffer.appendDate(date)
            for field in fields {
                try buffer.append(field)
            }
        } catch {
            buffer.removeLast(buffer.count - count)
            throw error
        }
        more(&buffer)
        appendConnection(to: &buffer)
    }

    /// RFC 9112 section 9.6: a server announces that it will close. An HTTP/1.0 client expects that by default, so it
    /// needs `keep-alive` to continue.
    private func appendConnection(to buffer: inout [UInt8]) {
        if !isKeepAlive {
            buffer.append("Connection: close\r\n")
        } else if version == .http10 {
            buffer.append("Connection: keep-alive\r\n")
        }
    }
}

/// A response that cannot be encoded: a defect of the server, never the client's fault.
public enum ResponseError: Error, Hashable {
    /// The status is not that of a final response, 200 to 599.
    case invalidStatus(Int)
    /// A value contains a control character; CR and LF would start a second response.
    case invalidFieldValue(name: String)
    /// Only the encoder may write Content-Length, Transfer-Encoding, Connection and Date.
    case reservedField(name: String)
    /// The date is not a valid field value.
    case invalidDate
}

/// The content that a status allows (RFC 9110 sections 6.4.1 and 8.6).
private enum ResponseContent {
    case allowed
    /// No content, with Content-Length 0: 205.
    case empty
    /// No content and no Content-Length: 204, and 304, whose length would be that of another response.
    case none

    init(_ status: HTTPResponse.Status) {
        switch status.code {
        case 204, 304: self = .none
        case 205: self = .empty
        default: self = .allowed
        }
    }
}

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
