import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

/// Months of a registry's life, in steps of hours or days: clients call, services restart, the night job runs, is
/// skipped, doubled, interrupted or undone, and readers follow the change feed.
struct SimulatedMonths {
    /// How far the clock is set back at a random step; never if it is empty.
    private let setBacks: [Duration]
    private let registry: SimulatedRegistry
    private let seed: UInt64
    private var dice: SeededGenerator
    private var calls: RandomCalls
    private var log = EventLog()
    private var readers = [1, 6, 30, 75].map(FeedReader.init)
    private var step = 0
    private var hasCrashed = false
    private var nights = SimulatedNights()
    private var nextNight: Timestamp
    private var nextCheck: Timestamp
    private var edges: [Timestamp]
    /// The latest time that the clock has shown.
    private var latest: Timestamp

    /// Shorter than the run, so that it drops months.
    static let historyRetention = ISO8601Duration.days(100)

    private static let zones = [
        "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe",
    ]
    private static let checkInterval = ISO8601Duration.days(30)

    /// - Parameter edges: moments around which something must happen.
    init(_ registry: SimulatedRegistry, seed: UInt64, edges: [Timestamp], setBacks: [Duration] = []) {
        (self.registry, self.seed, self.setBacks) = (registry, seed, setBacks)
        dice = SeededGenerator(seed: seed)
        calls = RandomCalls(of: registry.app)
        latest = registry.clock.now
        self.edges = edges.sorted().filter { [latest] in $0 > latest }
        nextNight = latest.advanced(by: .hours(24))
        nextCheck = latest.advanced(by: Self.checkInterval)
    }

    private var note: String { "seed \(seed), step \(step) at \(registry.clock.now)" }

    /// Lets the time go by until `end`, and checks the registry after each month.
    mutating func run(until end: Timestamp) async throws {
        do {
            while latest < end {
                try await registry.withService { service in
                    if hasCrashed { try await goOnAfterCrash(service) }
                    if dice.isTrue(0.5) { try await Partitions.make(on: registry.configuration) }
                    repeat { try await takeStep(service) } while latest < end && !hasCrashed && !dice.isTrue(0.08)
                }
            }
            try await registry.withService { try await check($0) }
        } catch {
            Issue.record("\(error), \(note)")
            throw error
        }
    }

    /// Each of these must have happened, or the run has shown little.
    func expectVariety() {
        #expect(nights.interrupted > 2 && nights.restored > 2 && nights.dropped > 4, "\(nights), seed \(seed)")
        #expect(readers.allSatisfy { $0.received > 100 }, "seed \(seed)")
        #expect(readers[0].expired == 0 && readers[3].expired > 0, "seed \(seed)")
        #expect(log.lives.values.contains { $0.count { $0.generationBefore == 0 } > 2 }, "seed \(seed)")
    }

    // MARK: Steps

    private mutating func takeStep(_ service: SimulatedService) async throws {
        step += 1
        try moveOn()
        if dice.isTrue(0.1) { try await registry.setTimeZone(dice.element(of: Self.zones)) }
        try await call(service, 1 + dice.below(6))
        try await call(service, dice.below(4))
        if dice.isTrue(0.2) { try await service.stores.fold(1 + dice.below(200)) }
        if registry.clock.now >= nextNight { try await passNight() }
        try await log.read(from: service.stores, note)
        if !setBacks.isEmpty, dice.isTrue(0.15) { try await setBack(service) }
        for index in readers.indices where step % readers[index].interval == 0 {
            try await readers[index].read(service, log, keptSince: keptSince, note)
        }
        if registry.clock.now >= nextCheck {
            nextCheck = registry.clock.now.advanced(by: Self.checkInterval)
            try await check(service)
        }
    }

    /// By hours or days; often to the last second before an edge, which then passes during or after the calls.
    private mutating func moveOn() throws {
        let hours = Int64(dice.isTrue(0.4) ? 1 + dice.below(12) : 24 * (1 + dice.below(6)))
        let now = registry.clock.now
        var next = now.advanced(by: .hours(hours))
        while let edge = edges.first, edge <= next {
            edges.removeFirst()
            let before = Timestamp(microseconds: edge.microseconds - 1_000_000)
            if before > now, dice.isTrue(0.7) {
                next = before
                break
            }
        }
        try registry.clock.set(to: next)
        latest = max(latest, next)
    }

    private mutating func call(_ service: SimulatedService, _ count: Int) async throws {
        let now = registry.clock.now
        var made: [RandomCalls.Call] = []
        for _ in 0..<count { made.append(try calls.next(&dice, at: now)) }
        guard dice.isTrue(0.3) else {
            for call in made { try await call(service) }
            return
        }
        try await atOnce(made) { call in try await call(service) }
    }

    private mutating func passNight() async throws {
        nextNight = registry.clock.now.advanced(by: .hours(20))
        var options = CleanUp.Options()
        options.historyRetention = Self.historyRetention
        // The standard breaker would skip most nights of so small an app.
        options.breaker = CleanUpBreaker(maxShare: dice.isTrue(0.9) ? 1 : CleanUpBreaker.standardShare)
        try await nights.pass(registry, options, &dice)
    }

    /// The data must be whole at once, before anything else has happened. The service goes on, alone or beside another
    /// one; or it has crashed.
    private mutating func setBack(_ service: SimulatedService) async throws {
        hasCrashed = dice.isTrue(0.4)
        try registry.clock.move(by: .zero - dice.element(of: setBacks))
        nextNight = min(nextNight, registry.clock.now.advanced(by: .hours(20)))
        try await service.stores.expectIntact("after the clock was set back, \(note)")
        guard !hasCrashed else { return }
        try await call(service, 1 + dice.below(6))
        if dice.isTrue(0.5) {
            let registry = registry
            try await registry.withService { other in
                try await call(other, 1 + dice.below(6))
                try await call(service, dice.below(3))
                if dice.isTrue(0.3) { try await passNight() }
            }
        }
        try await log.read(from: service.stores, note)
        try await service.stores.expectIntact("after calls under a clock that was set back, \(note)")
    }

    private mutating func goOnAfterCrash(_ service: SimulatedService) async throws {
        hasCrashed = false
        try await call(service, 1 + dice.below(6))
        try await log.read(from: service.stores, note)
        try await service.stores.expectIntact("after a crash and calls under a clock that was set back, \(note)")
    }

    // MARK: Checks

    /// What the job must keep: history is dropped by the month.
    private var keptSince: Timestamp { latest.preceding(by: Self.historyRetention) }

    private mutating func check(_ service: SimulatedService) async throws {
        try await service.stores.expectIntact(note)
        try await checkHistories(service)
        try await checkAudiences(service)
    }

    /// The events that are left of an installation are those from a time on, with none missing.
    private func checkHistories(_ service: SimulatedService) async throws {
        for (installID, life) in log.lives {
            var events: [RecordedEvent] = []
            var next: EventCursor?
            repeat {
                let page = try await service.stores.events.events(
                    of: service.stores.key(installID), before: next, limit: 20)
                events += page?.events ?? []
                next = page?.next
            } while next != nil
            let ids = Array(events.map(\.cursor.id).reversed())
            let first = events.map(\.at).min()
            let left = first.map { first in life.filter { $0.at >= first } } ?? []
            #expect(ids == left.map(\.id), "\(installID), \(note)")
            let kept = life.filter { $0.at >= keptSince }
            #expect(ids.count >= kept.count, "\(installID), \(note)")
        }
    }

    /// The counts of the roll-up, of the audience calls and of the rows agree.
    private mutating func checkAudiences(_ service: SimulatedService) async throws {
        let stores = service.stores
        try await stores.expectExact()
        for include in AudienceInclude.allCases {
            let audience = Audience(app: stores.app.number, filter: .everybody, include: include)
            let count = try await service.audiences.count(audience, explains: true)
            #expect(count.plan?.path == .rollUp)
            let page = try await service.audiences.page(audience, from: .start, limit: 1_000, explains: false)
            #expect(Int(count.count) == page.items.count, "\(include), \(note)")
        }
        let all = try await stores.count("SELECT count(*) FROM installation")
        let counted = try await service.audiences.count(
            Audience(app: stores.app.number, filter: .everybody, include: .all), explains: false)
        #expect(counted.count == all, "\(note)")
    }
}

/// The nights of a registry, and what its job did in them.
struct SimulatedNights: CustomStringConvertible {
    private(set) var interrupted = 0
    private(set) var restored = 0
    private(set) var dropped = 0
    private(set) var refused = 0
    private var runs: [Int] = []

    var description: String {
        "\(runs.count) runs, \(interrupted) interrupted, \(refused) refused, \(restored) restored, \(dropped) dropped"
    }

    /// Mostly runs the job once.
    mutating func pass(
        _ registry: SimulatedRegistry, _ options: CleanUp.Options, _ dice: inout SeededGenerator
    ) async throws {
        switch dice.below(20) {
        case 0..<3: return
        case 3, 4:
            try await run(registry, options)
            try await run(registry, options)
        case 5: try await runTwiceAtOnce(registry, options)
        case 6, 7: try await runAndCancel(registry, options, after: dice.below(4))
        case 8..<11: try await runAndKill(registry, options, after: dice.below(40))
        case 11: if let last = runs.suffix(4).randomElement(using: &dice) { try await undo(last, registry) }
        case 12:
            try await run(registry, options)
            if let last = runs.last { try await undo(last, registry) }
        default: try await run(registry, options)
        }
    }

    private mutating func run(_ registry: SimulatedRegistry, _ options: CleanUp.Options) async throws {
        note(try await registry.cleanUp(options))
    }

    private mutating func note(_ report: CleanUpReport) {
        runs += report.runID.map { [$0] } ?? []
        dropped += report.partitionsDropped
        refused += report.apps.count(where: \.isRefused)
    }

    /// One of them finds the other one, or both run one after the other.
    private mutating func runTwiceAtOnce(_ registry: SimulatedRegistry, _ options: CleanUp.Options) async throws {
        let reports = try await withThrowingTaskGroup(of: CleanUpReport?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do { return try await registry.cleanUp(options) } catch CleanUpRefusal.busy { return nil }
                }
            }
            return try await group.reduce(into: []) { reports, report in reports += report.map { [$0] } ?? [] }
        }
        #expect(!reports.isEmpty)
        for report in reports { note(report) }
    }

    /// As SIGTERM ends it, between two batches.
    private mutating func runAndCancel(
        _ registry: SimulatedRegistry, _ options: CleanUp.Options, after steps: Int
    ) async throws {
        let job = Locked<Task<CleanUpReport, any Error>?>(nil)
        let left = Locked(steps)
        let task = Task {
            try await registry.cleanUp(options) { _ in
                let isDue = left.withLock { left in
                    left -= 1
                    return left < 0
                }
                if isDue { job.withLock { $0?.cancel() } }
            }
        }
        job.withLock { $0 = task }
        do {
            note(try await task.value)
        } catch let error as PostgresError where error.kind == .cancelled {
            interrupted += 1
        }
    }

    /// The server sees the same if the job's process is killed: the connection ends at any moment.
    private mutating func runAndKill(
        _ registry: SimulatedRegistry, _ options: CleanUp.Options, after polls: Int
    ) async throws {
        let task = Task { try await registry.cleanUp(options) }
        try await PostgresSession.withSession(registry.superuser) { session in
            for _ in 0..<polls { _ = try session.execute(Self.jobs) }
            for row in try session.execute(Self.jobs) {
                _ = try session.execute("SELECT pg_terminate_backend(\(row.decode(0, as: Int32.self)), 5000)")
            }
        }
        do {
            note(try await task.value)
        } catch is PostgresError {
            interrupted += 1
        }
    }

    private static let jobs: PostgresStatement =
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'"

    private mutating func undo(_ run: Int, _ registry: SimulatedRegistry) async throws {
        restored += try await CleanUp(registry.configuration).undo(run, process: "test").restored
    }
}
