import Foundation
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite(
    "The registry stays whole as months go by, and when the clock is set back (R2, R11, R12)",
    .enabled(if: MovableClock.isInstalled, "libfaketime is not installed: make packages"))
struct CalendarTests {
    @Test(.timeLimit(.minutes(30))) func registry_isWhole_afterEachMonth() async throws {
        let seed = TestSeed.make(for: "CalendarTests")
        try await SimulatedRegistry.with(from: .at("2026-01-20T10:00:00Z"), policy: Self.policy) { registry in
            var months = SimulatedMonths(registry, seed: seed, edges: Self.edges)
            try await months.run(until: .at(Self.isLong ? "2027-04-20T10:00:00Z" : "2026-05-20T10:00:00Z"))
            if Self.isLong { months.expectVariety() }
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func registry_isWhole_whenItsClockIsSetBackAtAnyMoment() async throws {
        let seed = TestSeed.make(for: "CalendarTests")
        try await SimulatedRegistry.with(from: .at("2026-02-20T10:00:00Z"), policy: Self.policy) { registry in
            var months = SimulatedMonths(
                registry, seed: seed, edges: Self.edges, setBacks: [.seconds(3_600), .seconds(86_400)])
            try await months.run(until: .at(Self.isLong ? "2026-09-10T10:00:00Z" : "2026-05-10T10:00:00Z"))
        }
    }

    /// Fifteen months instead of four, and seven instead of three: `make soak`.
    private static let isLong = ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_MONTHS"] == "all"

    /// Short times, so that every rule of the night job applies within weeks.
    private static let policy: AppPolicy = {
        var draft = AppPolicy.Draft()
        for provider in Provider.allCases { draft.staleAfter[provider] = .days(12) }
        (draft.retention, draft.grace, draft.sessionTombstones) = (.days(10), .days(3), .days(60))
        return try! AppPolicy(draft)
    }()

    /// The beginnings of months by UTC and elsewhere, and changes to and from daylight-saving time.
    private static let edges: [Timestamp] = {
        let months = (1...12).map { $0 < 10 ? "0\($0)" : "\($0)" }
        let beginnings = ["2026", "2027"].flatMap { year in months.map { "\(year)-\($0)-01T00:00:00Z" } }
        let others = [
            "2026-03-08T07:00:00Z", "2026-03-29T01:00:00Z", "2026-04-04T15:00:00Z", "2026-06-30T22:00:00Z",
            "2026-10-03T15:30:00Z", "2026-10-25T01:00:00Z", "2026-11-01T06:00:00Z", "2027-03-14T07:00:00Z",
            "2027-03-28T01:00:00Z",
        ]
        return (beginnings + others).map { Timestamp.at($0) }
    }()
}

extension Timestamp {
    /// - Parameter text: RFC 3339.
    static func at(_ text: String) -> Timestamp { Timestamp(text)! }
}
