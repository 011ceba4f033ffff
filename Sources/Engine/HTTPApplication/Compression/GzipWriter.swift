import Basics
import EventLoop

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
