public import HTTPTypes

/// A response. The server adds `Content-Length` or `Transfer-Encoding`, `Date`, `X-Request-Id` and `Connection`.
public struct ServerResponse: Sendable {
    public var status: HTTPResponse.Status
    public var fields: HTTPFields
    public var body: Body

    public enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// A body of any length, sent as it is produced. The producer runs in the request's task, on the connection's
        /// loop. If it throws, the connection is reset, so that the client can see that the body is incomplete. It does
        /// not run for HEAD.
        case stream(@Sendable (ResponseBodyWriter) async throws -> Void)
    }

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
    public init() {}
}

/// A stream was written to while an earlier call had not returned: only one writer is allowed at a time.
public struct ConcurrentWrite: Error {}
