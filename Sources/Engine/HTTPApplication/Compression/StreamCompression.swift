import Basics
import EventLoop
import HTTPTypes
import HTTPWire

/// gzip for streamed responses. Responses with a fixed body stay as they are: they are small.
public enum StreamCompression {
    /// Compresses a streamed response if its client prefers gzip, and names `Accept-Encoding` in `Vary`.
    ///
    /// The response to HEAD has the fields that the response to GET would have.
    ///
    /// - Throws: 406 as a `Problem`, for a client that accepts neither gzip nor the plain body.
    public static func apply(to response: ServerResponse, for request: ServerRequest) throws -> ServerResponse {
        guard case .stream(let produce) = response.body, response.fields[.contentEncoding] == nil else {
            return response
        }
        var response = response
        response.fields.vary(by: "Accept-Encoding")
        let accepted = AcceptEncoding(request.head.values(of: .acceptEncoding))
        if accepted.prefersGzip {
            response.compress(produce)
        } else if !accepted.acceptsIdentity {
            throw Problem.noAcceptableEncoding
        }
        return response
    }
}

extension ServerResponse {
    fileprivate mutating func compress(_ produce: @escaping @Sendable (ResponseBodyWriter) async throws -> Void) {
        fields[.contentEncoding] = "gzip"
        fields.weakenETag()
        body = .stream { writer in
            let gzip = try GzipWriter(writer)
            try await produce(ResponseBodyWriter(write: gzip.write, flush: gzip.flush))
            try await gzip.end()
        }
    }
}

extension HTTPFields {
    /// Adds a request field to the list of fields that the response depends on.
    mutating func vary(by name: String) {
        self[.vary] = self[.vary].map { "\($0), \(name)" } ?? name
    }

    /// A strong validator promises identical bytes, which a compressed body does not have (RFC 9110, section 8.8.1).
    fileprivate mutating func weakenETag() {
        guard let tag = self[.eTag], tag.hasPrefix("\"") else { return }
        self[.eTag] = "W/" + tag
    }
}

extension Problem {
    fileprivate static let noAcceptableEncoding = Problem(
        .notAcceptable, code: "no-acceptable-encoding",
        detail: "Accept-Encoding excludes both gzip and an uncompressed body.")
}

/// Compresses a producer's output on its way to the client, off the connection's loop.
///
/// One caller may write at a time, as with the underlying writer.
final class GzipWriter: Sendable {
    /// Bytes compressed at once: about a millisecond's work.
    static let pieceBytes = 64 * 1024
    /// Input up to this size is compressed on the loop: moving to another thread and back would cost as much.
    static let loopBytesMax = 512

    private let writer: ResponseBodyWriter
    private let encoder: Locked<GzipEncoder>

    init(_ writer: ResponseBodyWriter) throws {
        self.writer = writer
        encoder = Locked(try GzipEncoder())
    }

    func write(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try await encode(rest.prefix(Self.pieceBytes), then: .more)
            rest = rest.dropFirst(Self.pieceBytes)
        }
    }

    /// Sends the bytes that were written so far in a form that can be decompressed.
    func flush() async throws {
        try await encode([], then: .pause)
        try await writer.flush()
    }

    func end() async throws {
        try await encode([], then: .end)
    }

    private func encode(_ bytes: ArraySlice<UInt8>, then next: GzipEncoder.Continuation) async throws {
        let encode = { @Sendable () throws -> [UInt8] in
            try self.encoder.withLock { try $0.encode(bytes, then: next) }
        }
        let output = bytes.count <= Self.loopBytesMax ? try encode() : try await offLoop { try encode() }
        if !output.isEmpty { try await writer.write(output) }
    }
}
