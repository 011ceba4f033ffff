import Synchronization

/// Compresses what a producer writes, on its way to the client, on another thread than the connection's loop.
///
/// It has one writer at a time, as the writer behind it.
final class GzipWriter: Sendable {
    /// Bytes compressed in one go, about a millisecond's work.
    static let pieceBytes = 64 * 1024
    /// What is compressed on the loop: going to another thread and back costs as much.
    static let loopBytesMax = 512

    private let writer: ResponseBodyWriter
    private let encoder: Mutex<GzipEncoder>

    init(_ writer: ResponseBodyWriter) throws {
        self.writer = writer
        encoder = Mutex(try GzipEncoder())
    }

    func write(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try await encode(rest.prefix(Self.pieceBytes), then: .more)
            rest = rest.dropFirst(Self.pieceBytes)
        }
    }

    /// Sends what was written so far, such that it can be decompressed.
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
