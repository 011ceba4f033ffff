public import HTTPTypes

/// Writes the response to one request (RFC 9112): status line, fields, body, as bytes behind those already in a
/// buffer, so that head and body leave in one write.
///
/// A response that is refused leaves the buffer as it was.
public struct ResponseEncoder: Sendable {
    /// Whether the connection may serve another request after this response, which says so.
    public private(set) var isKeepAlive: Bool

    private let isHead: Bool
    private let version: HTTPVersion

    /// - Parameter isKeepAlive: false makes this the connection's last response, whatever the client prefers.
    public init(answering request: RequestHead, isKeepAlive: Bool = true) {
        self.isKeepAlive = isKeepAlive && request.isKeepAlive
        self.isHead = request.method == .head
        self.version = request.version
    }

    private init() {
        self.isKeepAlive = false
        self.isHead = false
        self.version = .http11
    }

    /// For a request that could not be parsed: the last response of its connection.
    public static var closing: ResponseEncoder { ResponseEncoder() }
}

extension ResponseEncoder {
    /// Writes a whole response.
    ///
    /// Content-Length is that of `body`, which HEAD's response announces and leaves out (RFC 9110 section 9.3.2).
    /// A response of status 204, 205 or 304 has no body, whatever was given.
    ///
    /// - Parameters:
    ///   - date: the value of Date, an IMF-fixdate (RFC 9110 section 5.6.7) that the caller renders once a second.
    ///   - more: appends whole field lines of the caller's, valid ones, without building fields of them.
    public func encode(
        _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], body: Span<UInt8>, date: [UInt8],
        more: (inout [UInt8]) -> Void = { _ in }, into buffer: inout [UInt8]
    ) throws(ResponseError) {
        try encodeHead(status, fields, date, more, into: &buffer)
        let content = ResponseContent(status)
        switch content {
        case .allowed: buffer.appendContentLength(body.count)
        case .empty: buffer.appendContentLength(0)
        case .none: break
        }
        buffer.append("\r\n")
        guard content == .allowed, !isHead else { return }
        buffer.append(body)
    }

    /// Writes a response without a body.
    public func encode(
        _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], date: [UInt8],
        more: (inout [UInt8]) -> Void = { _ in }, into buffer: inout [UInt8]
    ) throws(ResponseError) {
        try encode(status, fields, body: Span(), date: date, more: more, into: &buffer)
    }

    /// Writes the head of a response whose length is not known yet, and returns the encoder of its body.
    ///
    /// An HTTP/1.0 client knows no chunks: its body ends with the connection, so that `isKeepAlive` turns false (RFC
    /// 9112 section 6.3).
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
        try encodeHead(status, fields, date, more, into: &buffer)
        buffer.append(framing == .chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n")
        return ResponseBodyEncoder(isHead ? .absent : framing)
    }

    /// Writes the interim response that a client waits for before it sends its body (RFC 9110 section 10.1.1).
    public static func encodeContinue(into buffer: inout [UInt8]) {
        buffer.append("HTTP/1.1 100 Continue\r\n\r\n")
    }
}

extension ResponseEncoder {
    /// All of the head but the fields that frame the body, and the empty line.
    private func encodeHead(
        _ status: HTTPResponse.Status, _ fields: HTTPFields, _ date: [UInt8], _ more: (inout [UInt8]) -> Void,
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

    /// RFC 9112 section 9.6: a server that will close says so. HTTP/1.0 closes by default, and has to be told that it
    /// may stay.
    private func appendConnection(to buffer: inout [UInt8]) {
        if !isKeepAlive {
            buffer.append("Connection: close\r\n")
        } else if version == .http10 {
            buffer.append("Connection: keep-alive\r\n")
        }
    }
}

/// What a status lets a response carry (RFC 9110 sections 6.4.1 and 8.6).
private enum ResponseContent {
    case allowed
    /// Nothing, and it says so: 205.
    case empty
    /// Nothing, without a length: 204, and 304, whose length would be that of another response.
    case none

    init(_ status: HTTPResponse.Status) {
        switch status.code {
        case 204, 304: self = .none
        case 205: self = .empty
        default: self = .allowed
        }
    }
}
