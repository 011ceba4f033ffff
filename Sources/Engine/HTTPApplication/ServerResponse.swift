public import HTTPTypes

/// A response. The server adds `Content-Length` or `Transfer-Encoding`, `Date`, `X-Request-Id` and `Connection`.
public struct ServerResponse: Sendable {
    /// From 200 to 599: any other becomes a 500. `Route.admit` may return 100.
    public var status: HTTPResponse.Status
    /// Without the fields that the server adds. Content-Length, Transfer-Encoding, Date, Connection, or a value with a
    /// control character makes the response a 500.
    public var fields: HTTPFields
    /// Not sent to HEAD, nor with status 204, 205 or 304.
    public var body: Body

    /// The content, without framing and, unless a middleware compresses it, without content coding.
    public enum Body: Sendable {
        /// The response has `Content-Length: 0`, except for status 204 and 304.
        case none
        /// Held in memory until it is sent. Its length becomes `Content-Length`.
        case bytes([UInt8])
        /// Like `bytes`, the same for every client: connections that send it at the same time share it.
        case constant([UInt8])
        /// A body of any length, sent as it is produced. The producer runs in the request's task, on the connection's
        /// loop. If it throws, the connection is reset, so that the client can see that the body is incomplete. It does
        /// not run for HEAD.
        case stream(@Sendable (ResponseBodyWriter) async throws -> Void)
    }

    /// The caller sets `Content-Type` in `fields` itself.
    public init(_ status: HTTPResponse.Status, fields: HTTPFields = [:], body: Body = .none) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// A response of text.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> ServerResponse {
        ServerResponse(status, fields: [.contentType: "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }
}

/// The destination of a streamed response's producer.
///
/// A middleware that changes bodies, for example by compression, passes the producer its own writer, which wraps the
/// one it was given.
public struct ResponseBodyWriter: Sendable {
    private let writeBytes: @Sendable ([UInt8]) async throws -> Void
    private let flushBytes: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - write: appends to the body; not called while an earlier call is under way.
    ///   - flush: sends what `write` has collected; by default there is nothing to send.
    public init(
        write: @escaping @Sendable ([UInt8]) async throws -> Void,
        flush: @escaping @Sendable () async throws -> Void = {}
    ) {
        writeBytes = write
        flushBytes = flush
    }

    /// Appends to the body, and waits while the client reads slowly. Small pieces are collected and sent together. One
    /// call at a time.
    ///
    /// - Throws: `ConnectionClosed` once the client is gone; `ConcurrentWrite` while another call is under way.
    public func write(_ bytes: [UInt8]) async throws {
        try await writeBytes(bytes)
    }

    /// Sends the collected pieces at once. Use it if the next piece may take a while.
    public func flush() async throws {
        try await flushBytes()
    }
}

/// The client went away, or was too slow, before its response was complete.
public struct ConnectionClosed: Error {
    /// For a writer of a middleware or a test whose client is gone.
    public init() {}
}

/// A stream was written to while an earlier call had not returned: only one writer is allowed at a time.
public struct ConcurrentWrite: Error {
    package init() {}
}
