import Basics
import Foundation
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

/// `PUSH_REGISTRY_TEST_SESSIONS` is the number of sessions.
@Suite("Many sessions may expire at one moment: counts are right at once, and no step is long (R7, R13)", .stores)
struct MassExpiryTests {
    private let stores = TestStores.lent!

    /// Of more than two batches.
    private static let count =
        ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_SESSIONS"].flatMap { Int($0) } ?? 11_000
    /// Registrations that are sent at once.
    private static let together = 1_000
    private static let locales = ["de_DE", "de_AT", "en_US", "en_GB", "fr_FR", "es_ES", "it_IT", "pt_BR"]

    @Test func counts_areRight_beforeDuringAndAfterTheSweepAndTheNightJob() async throws {
        let expiry = try await Self.register(stores)
        try await stores.foldAll()
        try await Self.expectCounts(reachable: Self.count, in: stores)
        // The moment has come.
        _ = try await stores.sql("UPDATE rollup_state SET swept_until = \(expiry.postgres) + interval '1 second'")
        try await Self.expectCounts(reachable: 0, in: stores)
        // One cell at a time.
        while let outcome = try await stores.fold(1), outcome.isFull {
            #expect(outcome.expiries <= 1)
            try await Self.expectCounts(reachable: 0, in: stores)
        }
        // The job has no clock but PostgreSQL's.
        _ = try await stores.sql("UPDATE installation SET session_expires_at = now() - interval '1 second'")
        try await Self.endSessions(stores)
        try await Self.expectCounts(reachable: 0, in: stores)
        try await stores.expectIntact()
    }

    /// The job ends the sessions in batches, after each of which the counts are those of the rows.
    private static func endSessions(_ stores: TestStores) async throws {
        let steps = Locked<[Int]>([])
        let wrong = Locked<[String]>([])
        let (configuration, app, cubes) = (stores.configuration, stores.app.number, stores.cubes)
        let report = try await stores.cleanUpWatched { progress in
            guard case .retiring(let done, of: _) = progress else { return }
            steps.withLock { $0.append(done) }
            let found = try? aside(configuration) { session -> Bool in
                let cached = cubes.cube(of: app)
                return try session.withTransaction {
                    try session.run(script: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                    let view = try session.cube(of: app, in: cubes, cached: cached)
                    return try view.counted(by: 0) == session.recount(app, 0, asOf: view.moment.asOf)
                }
            }
            if found != true { wrong.withLock { $0.append(found == nil ? "not read" : "wrong") } }
        }
        #expect(report.counts[.sessionEnded] == count)
        #expect(wrong.withLock { $0 } == [])
        let starts = steps.withLock { $0 } + [count]
        let batchMax = CleanUpPace.batch(beside: 0)
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $1 - $0 <= batchMax }, "\(starts)")
        #expect(starts.count > count / batchMax)
    }

    /// - Returns: when all sessions expire.
    private static func register(_ stores: TestStores) async throws -> Timestamp {
        let now: PostgresTimestamp = try await stores.sql("SELECT clock_timestamp()")[0].decode(0)
        let expiry = Timestamp(now).advanced(by: .days(1))
        for start in stride(from: 0, to: count, by: together) {
            try await atOnce(start..<min(start + together, count)) { number in
                let registration = try registration(number, until: expiry, stores)
                #expect(try await stores.installations.register(registration).status == .created)
            }
        }
        return expiry
    }

    private static func registration(
        _ number: Int, until expiry: Timestamp, _ stores: TestStores
    ) throws -> Registration {
        try .make(
            "i\(number)", Token("aaaaaaaa\(10_000_000 + number)", of: .apns), of: stores.app,
            as: .ofTest("u\(number)", session: "s\(number)", until: expiry)
        ) {
            $0.settings.authorizationStatus = .authorized
            $0.device.locale = LocaleIdentifier(locales[number % locales.count])
        }
    }

    private static func expectCounts(
        reachable: Int, in stores: TestStores, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let audiences = stores.audiences
        for (include, expected) in [(AudienceInclude.reachable, reachable), (.all, count)] {
            let audience = Audience(app: stores.app.number, filter: .everybody, include: include)
            let result = try await audiences.count(audience, explains: true)
            #expect(result.plan?.path == .rollUp, sourceLocation: sourceLocation)
            #expect(Int(result.count) == expected, "\(include)", sourceLocation: sourceLocation)
        }
    }
}

extension TestStores {
    fileprivate func foldAll() async throws {
        while let outcome = try await fold(), outcome.isFull {}
    }

    fileprivate func cleanUpWatched(
        _ progress: @escaping @Sendable (CleanUp.Progress) -> Void
    ) async throws -> CleanUpReport {
        try await CleanUp(configuration).run(CleanUp.Options(), progress: progress)
    }
}
