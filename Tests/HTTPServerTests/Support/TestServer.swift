import Basics
import EventLoop
import Foundation
import HTTPServer
import HTTPTypes
import Logging
import Testing

@testable import HTTPApplication

/// A server on a free port, with handlers that tests can wait for, and that can wait for tests.
final class TestServer: Sendable {
    let server: HTTPServer
    let events = EventLog()
    private let running: Task<Void, Never>
    private let loops: [EventLoop]

    var port: UInt16 { server.port }

    convenience init(loopCount: Int = 1, _ configure: (inout HTTPServerConfiguration) -> Void = { _ in }) throws {
        try self.init(loopCount: loopCount, configure, routes: Self.routes)
    }

    init(
        loopCount: Int = 1, _ configure: (inout HTTPServerConfiguration) -> Void = { _ in },
        routes: @escaping @Sendable (EventLoop, EventLog) -> [Route]
    ) throws {
        loops = (0..<loopCount).map { EventLoop(name: "test-\($0)") }
        var configuration = HTTPServerConfiguration(addresses: [ListenAddress(host: "127.0.0.1", port: 0)])
        configure(&configuration)
        let events = events
        let server = try HTTPServer(
            configuration, loops: loops, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { loop in
            Application(router: Router(routes(loop, events)), observers: [events])
        }
        self.server = server
        running = Task { await server.run() }
    }

    deinit {
        server.abort()
        for loop in loops { loop.stop() }
    }

    func client(receiveBufferBytes: CInt? = nil) throws -> TestClient {
        try TestClient(port, receiveBufferBytes: receiveBufferBytes)
    }

    /// Runs blocking code with a client.
    func serve<T: Sendable>(
        _ body: @escaping @Sendable (_ server: TestServer, _ client: TestClient) throws -> T
    ) async throws -> T {
        try await blocking { [self] in try body(self, client()) }
    }

    /// Stops the server by cancelling its task.
    func cancel() { running.cancel() }

    /// Waits for `run` to return.
    func waitForEnd() async { await running.value }
}

extension TestServer {
    /// `/hello`, `/echo` (up to 1,000 bytes), `/length` (up to 1,000,000), `/wait` (until cancelled), `/gate`
    /// (until the gate of `events` is open), `/fail`, `/things/{a}/{b}`, `/big` (8 MB) and `/rows` (a stream of 4 MB).
    @Sendable static func routes(_ loop: EventLoop, _ events: EventLog) -> [Route] {
        [
            Route(.get, "/hello") { _ in .text("hello") },
            Route(.post, "/echo", bodyBytesMax: 1_000) { .text(String(decoding: try $0.body, as: UTF8.self)) },
            Route(.post, "/length", bodyBytesMax: 1_000_000) { .text("\(try $0.body.count)") },
            Route(.get, "/things/{a}/{b}") { .text("\($0.parameters["a"]) \($0.parameters["b"])") },
            Route(.get, "/fail") { _ in throw Secret() },
            Route(.get, "/gate") { _ in
                events.add("at the gate")
                await events.gate.wait()
                return .text("through")
            },
            Route(.get, "/wait") { _ in
                events.add("waiting")
                do {
                    try await loop.sleep(for: .seconds(60))
                } catch {
                    events.add("cancelled")
                    throw error
                }
                return .text("waited")
            },
            Route(.get, "/big") { _ in ServerResponse(.ok, body: .bytes([UInt8](repeating: 120, count: 8_000_000))) },
            Route(.get, "/rows") { _ in
                ServerResponse(
                    .ok,
                    body: .stream { writer in
                        let row = Array(String(repeating: "r", count: 399).utf8) + [10]
                        for number in 0..<10_000 {
                            try await writer.write(row)
                            if number % 100 == 0 { events.add("rows") }
                        }
                    })
            },
        ]
    }

    private struct Secret: Error, CustomStringConvertible {
        var description: String { "password" }
    }
}

/// Makes handlers wait until the test opens it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    func wait() async {
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if passes { continuation.resume() }
        }
    }

    func open() {
        let released = state.withLock { state in
            defer { state = State(isOpen: true) }
            return state.waiters
        }
        for waiter in released { waiter.resume() }
    }

    func close() { state.withLock { $0.isOpen = false } }
}

/// Records events, for tests that wait for them.
final class EventLog: RequestObserver, @unchecked Sendable {
    /// The gate of `/gate`.
    let gate = Gate()
    private let condition = NSCondition()
    private var events: [String] = []
    private var finished: [FinishedRequest] = []

    func add(_ event: String) {
        condition.withLock { events.append(event) }
        condition.broadcast()
    }

    func didFinish(_ request: FinishedRequest) {
        condition.withLock { finished.append(request) }
        condition.broadcast()
    }

    func count(_ event: String) -> Int {
        condition.withLock { events.count { $0 == event } }
    }

    var requests: [FinishedRequest] { condition.withLock { finished } }

    /// Waits up to thirty seconds until `event` has happened `times` times.
    func wait(for event: String, times: Int = 1) -> Bool {
        wait { $0.count { $0 == event } >= times }
    }

    func waitForRequests(_ count: Int) -> Bool {
        wait { _ in finished.count >= count }
    }

    private func wait(_ holds: ([String]) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 30)
        condition.lock()
        defer { condition.unlock() }
        while !holds(events) {
            guard condition.wait(until: deadline) else { return false }
        }
        return true
    }
}

/// Runs blocking code on a new thread, because the pool has few threads.
func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try body() }) }.start()
    }
}
