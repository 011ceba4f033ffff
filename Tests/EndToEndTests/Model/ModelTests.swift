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
/// timing; so a race may need a seed several times. `PUSH_REGISTRY_TEST_SOAK` runs random seeds for this number of
/// minutes, or forever if it is 0.
@Suite("The service follows the rules under fire (R1 to R10)", .serialized)
struct ModelTests {
    private static let fixedSeeds: Range<UInt64> = 0..<10
    private static let apps = 4

    private let tally = ModelRun.Tally()

    @Test func responsesAndTables_haveASerialOrder_underFire() async throws {
        let environment = ProcessInfo.processInfo.environment
        if let minutes = environment["PUSH_REGISTRY_TEST_SOAK"].flatMap({ Int($0) }) {
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
                        if let violation { return report(violation, seed) }
                    } catch {
                        Issue.record(error, "\(command(seed))")
                        return
                    }
                }
            }
        }
    }

    private func report(_ violation: Violation, _ seed: UInt64) {
        Issue.record(
            """
            \(violation.description)
            After \(summary).
            The seed again: \(command(seed))
            """)
    }

    private func command(_ seed: UInt64) -> String {
        "PUSH_REGISTRY_TEST_SEED=\(seed) .ci/tests --filter EndToEndTests.ModelTests"
    }
}
