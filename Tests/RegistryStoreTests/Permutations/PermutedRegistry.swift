import Basics
import Dispatch
import EmbeddedPostgres
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryTestSupport

@testable import RegistryJobs
@testable import RegistryStore

/// Processes that serve one database, each with sessions that a gate stops before each statement.
///
/// Used on one thread, which it blocks.
final class PermutedRegistry {
    private let gate: StepGate
    private let callers: [PermutedStores]
    private let control: PostgresSession
    private let configuration: PostgresConfiguration
    private var worlds = 0
    /// Worlds that are in the same state as a start.
    private var prepared: [PermutedStart: [PermutedWorld]] = [:]
    /// Enough to share the transactions that prepare them.
    private static let preparedTogether = 16
    /// The executions so far.
    private(set) var log: [String] = []

    private init(
        _ gate: StepGate, _ callers: [PermutedStores], _ control: PostgresSession,
        _ configuration: PostgresConfiguration
    ) {
        (self.gate, self.callers, self.control, self.configuration) = (gate, callers, control, configuration)
    }

    /// - Parameter lockTimeout: of the service's sessions. Zero: each statement waits until it gets its locks.
    static func with<Value: Sendable>(
        callers count: Int, lockTimeout: String = "0", _ body: @escaping @Sendable (PermutedRegistry) throws -> Value
    ) async throws -> Value {
        try await ThrowawayCluster.withDatabase(from: .migrated, logger: TestStores.quiet) { server in
            let superuser = try PostgresConfiguration(server.superuserConnectionString)
            let run = try await prepare(superuser)
            let gate = StepGate()
            let proxies = try (0..<count).map {
                try SteppingProxy(server.connectionString, of: $0, through: gate)
            }
            let loops = (0..<count).map { EventLoop(name: "caller-\($0)") }
            defer {
                gate.open()
                for proxy in proxies { proxy.stop() }
                for loop in loops { loop.stop() }
            }
            var settings = serviceSettings
            settings["lock_timeout"] = lockTimeout
            let direct = try PostgresConfiguration(server.connectionString)
            let pools = try zip(proxies, loops).map { proxy, loop in
                PostgresClient(
                    try PostgresConfiguration(proxy.connectionString, settings: settings), on: loop,
                    limits: .init(connectionsMin: 1, connectionsMax: 2), logger: TestStores.quiet)
            }
            let directPool = PostgresClient(
                direct, on: loops[0], limits: .init(connectionsMin: 1, connectionsMax: 2), logger: TestStores.quiet)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await directPool.run() }
                let app = try await app(on: directPool)
                let stores = try zip(proxies, pools).map { proxy, pool in
                    PermutedStores(
                        LoopResources(postgres: pool),
                        try PostgresConfiguration(proxy.connectionString), cleanUpRun: run, app)
                }
                for store in stores { group.addTask { await store.run() } }
                let value = try await PostgresSession.withSession(superuser) { control in
                    let registry = PermutedRegistry(gate, stores, control, direct)
                    defer { gate.open() }
                    return try body(registry)
                }
                group.cancelAll()
                try await group.waitForAll()
                return value
            }
        }
    }

    private static func prepare(_ superuser: PostgresConfiguration) async throws -> Int32 {
        try await PostgresSession.withSession(superuser) { session in
            // Two transactions that wait for each other are found at once.
            let database: String = try session.execute("SELECT current_database()")[0].decode(0)
            try session.run(script: "ALTER DATABASE \"\(database)\" SET deadlock_timeout = '10ms'")
            return try CleanUpLedger(session: session).begin(process: "test")
        }
    }

    private static func app(on postgres: PostgresClient) async throws -> App {
        let app = try await PostgresAppDirectory(postgres: postgres).put(AppID("com.example.mail"), policy: .standard)
        let store = PostgresTopicStore(LoopResources(postgres: postgres))
        var topics: [Topic] = []
        for (slug, isIn) in [("t1", false), ("t2", true)] {
            let content = try Topic.Content(
                name: "Topic", description: nil, category: nil, isInByDefault: isIn, isLocked: false)
            topics.append(try await store.put(TopicSlug(slug), content, in: app.number).topic)
        }
        return App(number: app.number, id: app.id, policy: app.policy, topics: TopicCatalogue(topics))
    }
}

// MARK: - Executions

extension PermutedRegistry {
    /// What the calls return one after the other, and the rows that they leave.
    func serial(
        _ calls: [PermutedCall], from start: PermutedStart, order: [Int], _ relaxation: PermutedRelaxation
    ) throws -> PermutedResult {
        var world = try world(start)
        if relaxation.contains(.judgesEarlier) {
            let arrival = ContinuousClock.now
            world.arrival = arrival
            // The store takes the time since then from PostgreSQL's, which a busy machine may read a while later.
            wait { _ in try? await eventually { arrival.duration(to: .now) > .milliseconds(50) } }
        }
        var outcomes: [Int: String] = [:]
        for caller in order {
            let isSkipped = relaxation.contains(.skipsCleanUp) && calls[caller] == .cleanUp
            outcomes[caller] = wait { [world] stores in
                isSkipped ? PermutedStores.cleanedUp : await stores[caller].outcome(of: calls[caller], in: world)
            }
        }
        let result = try result(outcomes, in: world)
        return relaxation.contains(.marksNothing) ? result.unmarked : result
    }

    /// One order of the calls' statements, which the search chooses.
    func execute(
        _ calls: [PermutedCall], from start: PermutedStart, _ search: OrderSearch
    ) throws -> (result: PermutedResult, steps: [String]) {
        let world = try world(start)
        gate.close()
        defer { gate.open() }
        for (caller, call) in calls.enumerated() {
            Task { [gate, callers] in
                gate.end(caller, with: await callers[caller].outcome(of: call, in: world))
            }
        }
        let steps = try schedule(calls, search)
        log.append("\(world.number): \(calls.map(\.rawValue)) from \(start): \(search.order)")
        return (try result(gate.outcomes, in: world), steps)
    }

    /// The invariants that the rows of all executions break, with the executions of their phones.
    func violations() throws -> [String] {
        let report = wait { [configuration] _ in
            try? await RegistryVerifier(configuration).verify().findings.filter { $0.broken > 0 }
                .map { ($0.invariant.name, $0.examples) }
        }
        guard let report else { return ["The registry cannot be verified."] }
        return report.map { name, examples in
            let numbers = examples.flatMap { $0.matches(of: /-w(\d+)/).compactMap { Int($0.1) } }
            let executions = Set(numbers).sorted().compactMap { number in log.first { $0.hasPrefix("\(number): ") } }
            return (["invariant \(name): \(examples)"] + executions).joined(separator: "\n")
        }
    }

    private func schedule(_ calls: [PermutedCall], _ search: OrderSearch) throws -> [String] {
        var steps: [String] = []
        var transactions = [Footprint](repeating: Footprint.of(""), count: calls.count)
        while true {
            let activities = try gate.settle(calls.indices) { pid in
                try control.execute(PostgresStatement("SELECT pg_blocking_pids(\(pid))"))[0].decode(0)
            }
            if activities.allSatisfy({ $0 == .ended }) { return steps }
            var next: [Int: Footprint] = [:]
            var texts: [Int: String] = [:]
            for (caller, activity) in activities.enumerated() {
                guard case .stopped(let text) = activity else { continue }
                texts[caller] = text
                next[caller] = Footprint.of(text).committing(transactions[caller])
            }
            guard !next.isEmpty else {
                steps.append("deadlock")
                gate.waitForChange(atMost: 0.02)
                continue
            }
            let chosen = search.choose(next)
            if next[chosen]!.isCommit {
                transactions[chosen] = Footprint.of("")
            } else {
                transactions[chosen].add(next[chosen]!)
            }
            let blocked = activities.indices.filter { activities[$0] == .blocked }
            steps.append(
                "\(calls[chosen]) [\(chosen)] \(Self.summary(texts[chosen]!))"
                    + (blocked.isEmpty ? "" : "   (\(blocked) waits)"))
            gate.letGo(chosen)
        }
    }

    private func world(_ start: PermutedStart) throws -> PermutedWorld {
        if let world = prepared[start]?.popLast() { return world }
        let new = (1...Self.preparedTogether).map { _ in nextWorld() }
        let fault = wait { stores in
            await withTaskGroup(of: String?.self) { group in
                for world in new { group.addTask { await stores[0].fault(preparing: start, world) } }
                return await group.reduce(nil) { $0 ?? $1 }
            }
        }
        if let fault { throw Unprepared(description: fault) }
        prepared[start] = new.dropLast()
        return new[new.count - 1]
    }

    private func nextWorld() -> PermutedWorld {
        while true {
            worlds += 1
            let world = PermutedWorld(number: worlds)
            if world.hasTokensInOrder { return world }
        }
    }

    private func result(_ outcomes: [Int: String], in world: PermutedWorld) throws -> PermutedResult {
        let rows: [String] = try control.execute(world.rows.unprepared()).map { try $0.decode(0) }
        return PermutedResult(outcomes.sorted { $0.key < $1.key }.map { "call \($0): \($1) " } + rows, in: world)
    }

    private func wait<Value: Sendable>(_ body: @escaping @Sendable ([PermutedStores]) async -> Value) -> Value {
        let done = DispatchSemaphore(value: 0)
        let value = Locked<Value?>(nil)
        Task { [callers] in
            let result = await body(callers)
            value.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        return value.withLock { $0! }
    }

    /// The first words, on one line.
    private static func summary(_ text: String) -> String {
        let written = Footprint.of(text).written.sorted().joined(separator: ", ")
        let words = text.split { $0 == " " || $0 == "\n" }.joined(separator: " ").prefix(90)
        return words + (written.isEmpty ? "" : " … writes \(written)")
    }
}

extension PermutedStores {
    fileprivate func fault(preparing start: PermutedStart, _ world: PermutedWorld) async -> String? {
        do {
            try await prepare(start, world)
            return nil
        } catch {
            return "\(start): \(error)"
        }
    }
}

struct Unprepared: Error, CustomStringConvertible {
    let description: String
}
