import EventLoop
import HTTPApplication
import HTTPWire

/// The owner of one streamed response: collects the producer's pieces, passes them on as chunks, and suspends the
/// producer while the client reads slowly. Any task may write, but only one at a time.
actor ResponseStream {
    /// Pieces are collected up to this size before they are sent as one chunk.
    static let chunkBytes = 16 * 1024

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let connection: HTTPConnection
    private let exchange: Exchange
    private var collected: [UInt8] = []
    private var waiter: UnsafeContinuation<Void, Never>?
    private var isWriting = false

    init(_ connection: HTTPConnection, _ exchange: Exchange) {
        loop = connection.context.loop
        self.connection = connection
        self.exchange = exchange
    }

    /// The writer for the producer.
    nonisolated var writer: ResponseBodyWriter {
        ResponseBodyWriter(write: { try await self.write($0) }, flush: { try await self.flush() })
    }

    /// Ends the producer's wait: the client has read enough, or is gone.
    func resume() {
        waiter?.resume()
        waiter = nil
    }

    /// - Throws: `ConnectionClosed` once the client is gone; `ConcurrentWrite` while another call is under way.
    private func write(_ bytes: [UInt8]) async throws {
        try beginWriting()
        defer { isWriting = false }
        connection.producerActed(exchange)
        if collected.isEmpty, bytes.count >= Self.chunkBytes {
            connection.send(chunk: bytes.span, of: exchange)
            return try await waitForReader()
        }
        collected.append(contentsOf: bytes)
        if collected.count >= Self.chunkBytes { try await sendCollected() }
    }

    func flush() async throws {
        try beginWriting()
        defer { isWriting = false }
        try await sendCollected()
    }

    /// Two concurrent writers would mix their pieces, and the second would overwrite the continuation of the first.
    private func beginWriting() throws {
        guard connection.isCurrent(exchange) else { throw ConnectionClosed() }
        guard !isWriting else { throw ConcurrentWrite() }
        isWriting = true
    }

    private func sendCollected() async throws {
        connection.send(chunk: collected.span, of: exchange)
        collected.removeAll(keepingCapacity: true)
        try await waitForReader()
    }

    private func waitForReader() async throws {
        if connection.streamMustWait(exchange) {
            await withUnsafeContinuation { continuation in
                // Other tasks may have run between the check and this point, so the condition is checked again.
                if connection.streamMustWait(exchange) { waiter = continuation } else { continuation.resume() }
            }
        } else {
            // Without this a producer that never waits would block the loop.
            await Task.yield()
        }
        guard connection.isCurrent(exchange) else { throw ConnectionClosed() }
    }
}
