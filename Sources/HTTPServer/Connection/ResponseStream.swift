import EventLoop
import HTTPWire

/// The owner of one streamed response: collects the pieces of its producer, hands them on as chunks, and has the
/// producer wait for a slow reader. It has one writer at a time, in whichever task.
actor ResponseStream {
    /// Pieces are collected up to here before they leave as one chunk.
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

    /// What the producer writes to.
    nonisolated var writer: ResponseBodyWriter {
        ResponseBodyWriter(write: { try await self.write($0) }, flush: { try await self.flush() })
    }

    /// The client has taken enough, or is gone.
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

    /// Two writers would have their pieces mixed, and the second would take the place of the first where it waits.
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
                // On the way to this await others may have run.
                if connection.streamMustWait(exchange) { waiter = continuation } else { continuation.resume() }
            }
        } else {
            // A producer that never waits would keep the loop for itself.
            await Task.yield()
        }
        guard connection.isCurrent(exchange) else { throw ConnectionClosed() }
    }
}
