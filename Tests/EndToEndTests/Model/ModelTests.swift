import Foundation
import RegistryTestSupport
import Testing

/// Random calls over HTTP on the real service and PostgreSQL, beside faults and commands, are compared with the oracle.
///
/// A seed leads to four rounds of 12 calls in each of some apps. In a round, three clients call concurrently about
/// three phones, four tokens and three users, while a `Nemesis` kills, stops and cuts parts of the registry. Then
/// `Linearization` searches for a serial order that respects the order of calls that did not overlap, in which the
/// oracle returns exactly the received responses, and which leads to exactly the stored installations, history,
/// sessions and logouts. So the service is linearizable in these rounds. The rounds are short because the search is
/// exponential in their length; there are many.
///
/// `PUSH_REGISTRY_TEST_SEED` repeats seeds, divided by commas: the calls and faults are then the same, but not their
/// timing. `PUSH_REGISTRY_TEST_CAPSULE` repeats the file of a violation and shrinks it. `PUSH_REGISTRY_TEST_SOAK` runs
/// random seeds for this number of minutes, or forever if it is 0.
@Suite("The service follows the rules under fire (R1 to R10)", .serialized)
struct ModelTests {
    private static let fixedSeeds: Range<UInt64> = 0..<10
    private static let apps = 4
    private static let shrinkLimit = Duration.seconds(300)

    private let tally = ModelRun.Tally()

    @Test func responsesAndTables_haveASerialOrder_underFire() async throws {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["PUSH_REGISTRY_TEST_CAPSULE"] {
            try await replay(Capsule(path: path))
        } else if let minutes = environment["PUSH_REGISTRY_TEST_SOAK"].flatMap({ Int($0) }) {
            try await soak(minutes: minutes)
        } else if let seeds = environment["PUSH_REGISTRY_TEST_SEED"] {
            try await hunt(seeds.split(separator: ",").map { try #require(UInt64($0)) })
        } else {
            try await hunt(Self.fixedSeeds)
            // A run without refusals, or with hardly anything else, would prove little.
            let statuses = tally.counts.statuses
            for status in [200, 201, 204, 401, 403, 404, 409, 412] { #expect(statuses[status] != nil, "no \(status)") }
        }
        report(summary)
    }

    /// At once, also into a file.
    private func report(_ text: String) {
        FileHandle.standardOutput.write(Data("model under fire: \(text)\n".utf8))
    }

    private var summary: String {
        let counts = tally.counts
        return "\(counts.seeds) seeds, \(counts.calls) calls, \(counts.unanswered) without an answer, "
            + "\(counts.faults) faults, \(counts.violations) violations"
    }

    /// Registries are used for some seeds each: their tables grow.
    private func soak(minutes: Int) async throws {
        let end = minutes == 0 ? nil : ContinuousClock.now + .seconds(60 * minutes)
        _ = try await race(2) { _ in
            while end.map({ ContinuousClock.now < $0 }) ?? true {
                try await hunt((0..<45).map { _ in UInt64.random(in: 0..<1_000_000_000) }, until: end)
                report("\(summary) so far")
            }
        }
    }

    private func hunt(_ seeds: some Sequence<UInt64>, until end: ContinuousClock.Instant? = nil) async throws {
        let plans = seeds.map { seed in (seed: seed, plans: (0..<Self.apps).map { ModelPlan(seed: seed, copy: $0) }) }
        func of(_ servers: FaultyRegistry.Servers) -> [(seed: UInt64, plans: [ModelPlan])] {
            plans.filter { $0.plans[0].servers == servers }
        }
        async let others: Void = hunt(of(.shared), on: .shared, until: end)
        // A standby replaces its primary once.
        for plan in of(.standby) { try await hunt([plan], on: .standby, until: end) }
        try await hunt(of(.movableClock), on: .movableClock, until: end)
        try await others
    }

    /// After a violation or an error, the rest gets another registry.
    private func hunt(
        _ seeds: [(seed: UInt64, plans: [ModelPlan])], on servers: FaultyRegistry.Servers,
        until end: ContinuousClock.Instant?
    ) async throws {
        var rest = seeds[...]
        while !rest.isEmpty {
            try await FaultyRegistry.with(servers) { registry in
                let run = ModelRun(registry: registry, tally: tally)
                while let (seed, plans) = rest.popFirst() {
                    if let end, ContinuousClock.now > end { return rest.removeAll() }
                    do {
                        let violation = try await run.violation(of: plans)
                        tally.countSeed(violation)
                        if let violation { return try report(violation, seed) }
                    } catch {
                        Issue.record(error, "\(Capsule.command("PUSH_REGISTRY_TEST_SEED=\(seed)"))")
                        return
                    }
                }
            }
        }
    }

    private func report(_ violation: Violation, _ seed: UInt64) throws {
        let path = try Capsule(violation, seed: seed).write(as: "seed-\(seed)")
        Issue.record(
            """
            \(violation.description)
            After \(summary).
            The seed again:       \(Capsule.command("PUSH_REGISTRY_TEST_SEED=\(seed)"))
            The least that fails: \(Capsule.command("PUSH_REGISTRY_TEST_CAPSULE=\(path)"))
            """)
    }

    /// Repeats a plan until it fails, and then looks for a smaller one. A failover needs new servers each
    /// time.
    private func replay(_ capsule: Capsule) async throws {
        let servers = capsule.plan.servers
        if servers == .standby {
            return try await replay(capsule) { plan in
                try await FaultyRegistry.with(servers) { try await violation(of: plan, in: $0) }
            }
        }
        try await FaultyRegistry.with(servers) { registry in
            try await replay(capsule) { try await violation(of: $0, in: registry) }
        }
    }

    private func replay(_ capsule: Capsule, _ run: (ModelPlan) async throws -> Violation?) async throws {
        func attempt(_ plan: ModelPlan, times: Int) async throws -> Violation? {
            for _ in 0..<times { if plan.count > 0, let found = try await run(plan) { return found } }
            return nil
        }
        guard let violation = try await attempt(capsule.plan, times: 50) else {
            return report("the capsule's plan kept all promises: \(summary)")
        }
        let smallest = try await ModelPlan.shrink(violation, within: Self.shrinkLimit) {
            try await attempt($0, times: 8)
        }
        let path = try Capsule(smallest, seed: capsule.seed).write(as: "seed-\(capsule.seed ?? 0)-small")
        Issue.record(
            """
            \(smallest.description)
            \(smallest.plan.count) calls: \(path)
            """)
    }

    /// Runs a plan in several apps at once.
    private func violation(of plan: ModelPlan, in registry: FaultyRegistry) async throws -> Violation? {
        let plans = Array(repeating: plan, count: Self.apps)
        return try await ModelRun(registry: registry, tally: tally).violation(of: plans)
    }
}
