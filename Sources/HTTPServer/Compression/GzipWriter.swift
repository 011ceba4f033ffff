import Synchronization

/// Compresses what a producer writes, on its way to the client, on the loop of the connection.
final class GzipWriter: Sendable {
    /// Bytes compressed in one go, about a millisecond's work; then the loop's other connections have their turn.
    static let turnBytes = 64 * 1024

    fileprivate struct State: ~Copyable {
        var encoder: GzipEncoder
        var turnBytesLeft = GzipWriter.turnBytes
    }

    private let writer: ResponseBodyWriter
    private let state: Mutex<State>

    init(_ writer: ResponseBodyWriter) throws {
        self.writer = writer
        state = Mutex(State(encoder: try GzipEncoder()))
    }

    func write(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try await encode(rest.prefix(Self.turnBytes), then: .more)
            rest = rest.dropFirst(Self.turnBytes)
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
        let (output, isTurnOver) = try state.withLock { state in
            (try state.encoder.encode(bytes, then: next), state.countTurn(bytes.count))
        }
        if !output.isEmpty { try await writer.write(output) }
        if isTurnOver { await Task.yield() }
    }
}

extension GzipWriter.State {
    /// Whether the producer has had its turn, now that so many further bytes were compressed.
    fileprivate mutating func countTurn(_ count: Int) -> Bool {
        turnBytesLeft -= count
        guard turnBytesLeft <= 0 else { return false }
        turnBytesLeft = GzipWriter.turnBytes
        return true
    }
}
