import Basics
import EventLoop
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("Apps take turns, and a caller waits no longer than its client does", .timeLimit(.minutes(5)))
struct TurnsTests {
    private let busy = AppNumber(1)

    /// What ran, in its order.
    private final class Log: Sendable {
        private let names = Locked<[String]>([])

        var all: [String] { names.withLock { $0 } }

        func add(_ name: String) { names.withLock { $0.append(name) } }
    }

    /// Lends turns, of which `body` holds the only one.
    private func withTurns(
        waitingMax: Int = 100, _ body: (Turns, inout ThrowingDiscardingTaskGroup<any Error>) async throws -> Void
    ) async throws {
        let loop = EventLoop(name: "turns")
        defer { loop.stop() }
        let turns = Turns(loop: loop, count: 1, waitingMax: waitingMax, waitMax: .seconds(60))
        try await withThrowingDiscardingTaskGroup { group in
            try await turns.withTurn(of: busy) { try await body(turns, &group) }
        }
    }

    @Test func otherApp_isServedSecond_whenOneHasManyCallers() async throws {
        let log = Log()
        try await withTurns { turns, group in
            for number in 1...5 {
                group.addTask { try await turns.withTurn(of: AppNumber(1)) { log.add("busy") } }
                try await eventually { await turns.waitingCount == number }
            }
            group.addTask { try await turns.withTurn(of: AppNumber(2)) { log.add("other") } }
            try await eventually { await turns.waitingCount == 6 }
        }
        #expect(log.all == ["busy", "other", "busy", "busy", "busy", "busy"])
    }

    @Test func callers_areRefused_whenTooManyOfTheirAppWait() async throws {
        try await withTurns(waitingMax: 1) { turns, group in
            group.addTask { try await turns.withTurn(of: AppNumber(1)) {} }
            try await eventually { await turns.waitingCount == 1 }
            await #expect(throws: StoreError.overloaded) { try await turns.withTurn(of: busy) {} }
            group.addTask { try await turns.withTurn(of: AppNumber(2)) {} }
            try await eventually { await turns.waitingCount == 2 }
        }
    }

    /// It leaves the queue: the end of the turn serves nobody, and the turn is free.
    @Test func caller_isRefused_whenItHasWaitedTooLong() async throws {
        let log = Log()
        let loop = EventLoop(name: "turns")
        defer { loop.stop() }
        let turns = Turns(loop: loop, count: 1, waitingMax: 1, waitMax: .milliseconds(1))
        try await turns.withTurn(of: busy) {
            await #expect(throws: StoreError.overloaded) {
                try await turns.withTurn(of: AppNumber(1)) { log.add("late") }
            }
            #expect(await turns.waitingCount == 0)
        }
        try await eventually { (try? await turns.withTurn(of: AppNumber(1)) { log.add("next") }) != nil }
        #expect(log.all == ["next"])
    }

    /// An export's turn is in its response, however that ends.
    @Test func turn_endsWithItsLastReference() async throws {
        let loop = EventLoop(name: "turns")
        defer { loop.stop() }
        let turns = Turns(loop: loop, count: 1, waitingMax: 1, waitMax: .seconds(60))
        try await withThrowingDiscardingTaskGroup { group in
            let turn = try await turns.turn(of: busy)
            group.addTask { try await turns.withTurn(of: AppNumber(2)) {} }
            try await eventually { await turns.waitingCount == 1 }
            withExtendedLifetime(turn) {}
        }
    }
}

@Suite("On Citus, an app's next batch waits for the clients of the last one", .timeLimit(.minutes(5)))
struct RestOnCitusTests {
    @Test func rest_isHalfTheTimeOfTheBatch_andShortAfterALongOne() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let start = ContinuousClock.now
        await loop.rest(after: .milliseconds(40))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
        await loop.rest(after: .seconds(3_600))
    }

    @Test func rest_endsAtOnce_whenTheTaskIsCancelled() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let task = Task { await loop.rest(after: .seconds(3_600)) }
        task.cancel()
        await task.value
    }
}
