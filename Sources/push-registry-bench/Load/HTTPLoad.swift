import EventLoop
import Foundation

/// Requests over keep-alive connections. Each connection sends its next request after the last response: a closed loop,
/// on one thread.
final class HTTPLoad: @unchecked Sendable {
    /// Larger than any response of the service to these requests.
    private static let bufferBytes = 64 * 1024
    /// How long the last responses may take.
    private static let drainDeadline = Duration.seconds(5)

    let loop: EventLoop
    let buffer: UnsafeMutableRawBufferPointer
    private let sequence: RequestSequence

    // Used on the loop only.
    private var connections: [LoadConnection] = []
    private var finishedCount = 0
    private var isMeasuring = false
    private var isStopping = false
    private var startedAt = 0
    private var lastAt = 0
    private var tally = LoadTally()

    init(_ sequence: RequestSequence, on loop: EventLoop) {
        self.loop = loop
        self.sequence = sequence
        buffer = .allocate(byteCount: Self.bufferBytes, alignment: 16)
    }

    deinit {
        buffer.deallocate()
    }

    /// The result of a measurement.
    struct Result: Sendable {
        let tally: LoadTally
        let seconds: Double
    }

    /// Opens the connections and sends requests, first without measuring. `reading` is called at the start and the end
    /// of the measurement.
    func run<Reading: Sendable>(
        port: UInt16, connections count: Int, open: OpenLoadChannel = { PlainChannel(descriptor: $0) },
        warmUp: Duration, measured: Duration, reading: () throws -> Reading
    ) async throws -> (result: Result, before: Reading, after: Reading) {
        try await start(port: port, connections: count, open: open, warmUp: warmUp)
        let before = try reading()
        await onLoop { self.beginMeasuring() }
        try await waitUntilSent(atMost: measured)
        let result = await onLoop { self.endMeasuring() }
        let after = try reading()
        try await stop()
        return (result, before, after)
    }

    /// The same, measured while `body` runs.
    func run(
        port: UInt16, connections count: Int, warmUp: Duration, during body: () async throws -> Void
    ) async throws -> Result {
        try await start(port: port, connections: count, open: { PlainChannel(descriptor: $0) }, warmUp: warmUp)
        await onLoop { self.beginMeasuring() }
        try await body()
        let result = await onLoop { self.endMeasuring() }
        try await stop()
        return result
    }

    /// Sends each request of an order `once`, and measures from the first one to the last response.
    func runAll(port: UInt16, connections count: Int, atMost limit: Duration) async throws -> Result {
        let channels = try Self.open(count, { PlainChannel(descriptor: $0) }, port: port)
        await onLoop {
            self.beginMeasuring()
            self.begin(channels)
        }
        try await waitUntilSent(atMost: limit)
        let result = await onLoop { self.endMeasuring() }
        try await stop()
        return result
    }

    private func start(port: UInt16, connections count: Int, open: OpenLoadChannel, warmUp: Duration) async throws {
        let channels = try Self.open(count, open, port: port)
        await onLoop { self.begin(channels) }
        try await Task.sleep(for: warmUp)
    }

    private static func open(_ count: Int, _ open: OpenLoadChannel, port: UInt16) throws -> [any LoadChannel] {
        let channels = try (0..<count).map { _ in try open(Loopback.connect(port: port)) }
        for channel in channels { channel.setNonBlocking() }
        return channels
    }

    /// Returns when every request of this load has its response, so that the next load finds the service idle.
    private func stop() async throws {
        await onLoop { self.isStopping = true }
        try await waitUntilSent(atMost: Self.drainDeadline)
        await onLoop { self.end() }
    }

    /// Waits until no connection has anything left to send.
    private func waitUntilSent(atMost limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(50))
            if await onLoop({ self.finishedCount == self.connections.count }) { return }
        }
    }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: body()) }
        }
    }
}

// MARK: - On the loop

extension HTTPLoad {
    private func begin(_ channels: [any LoadChannel]) {
        connections = channels.map { LoadConnection($0, self) }
        for connection in connections { connection.start() }
    }

    private func beginMeasuring() {
        isMeasuring = true
        startedAt = Monotonic.microseconds
        lastAt = startedAt
    }

    private func endMeasuring() -> Result {
        isMeasuring = false
        return Result(tally: tally, seconds: Double(lastAt - startedAt) / 1_000_000)
    }

    private func end() {
        for connection in connections { connection.stop() }
        connections = []
    }

    var requestBytes: [UInt8] { sequence.pool.bytes }

    func nextRequest() -> Range<Int>? {
        isStopping ? nil : sequence.next()
    }

    func add(_ response: ResponseScanner.Response, microseconds: Int) {
        guard isMeasuring else { return }
        tally.add(response, microseconds: microseconds)
        lastAt = Monotonic.microseconds
    }

    /// The connection has nothing left to send.
    func finish(_ connection: LoadConnection) {
        finishedCount += 1
    }

    func fail(_ connection: LoadConnection) {
        tally.addFailure()
        connection.stop()
        finishedCount += 1
    }
}
