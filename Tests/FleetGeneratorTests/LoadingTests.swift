import Basics
import Crypto
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore
import Testing

@testable import FleetGenerator

@Suite("Loading a fleet") struct LoadingTests {
    private func fleet(_ app: App, count: Int) throws -> Fleet {
        Fleet(
            seed: 3, app: app, count: count, asOf: Timestamp(microseconds: 1_795_262_400_000_000),
            links: try TimeZoneLinks())
    }

    @Test func rows_equalTheGeneratedInstallations() async throws {
        try await withDatabase { database, app in
            let fleet = try self.fleet(app, count: 2_000)
            try await FleetLoader().load(fleet, into: database)
            try await withStore(database) { store in
                for number in stride(from: 0, to: 2_000, by: 7) {
                    let expected = fleet[number]
                    let key = InstallationKey(app: app.number, installID: expected.installID)
                    let record = try #require(try await store.installation(key))
                    #expect(record.snapshot == expected.request.snapshot)
                    #expect(record.token == expected.token)
                    #expect(record.installation.keys == expected.keys)
                    #expect(record.installation.owner == expected.owner)
                    #expect(record.installation.state == .active)
                    #expect(record.installation.createdAt == expected.times.createdAt)
                    #expect(record.installation.lastSeenAt == expected.times.lastSeenAt)
                    let page = try #require(try await store.snapshots(of: key, before: nil, limit: 10))
                    #expect(page.snapshots.map(\.snapshot) == [expected.request.snapshot])
                }
            }
        }
    }

    /// Nothing is read but the digest, so it is that of the service.
    @Test func registration_isUnchanged_whenTheSameBodyIsSentAgain() async throws {
        try await withDatabase { database, app in
            let links = try TimeZoneLinks()
            let fleet = Fleet(
                seed: 4, app: app, count: 500, asOf: .now, lastSeen: .withinSeconds(3_600), links: links)
            try await FleetLoader().load(fleet, into: database)
            let rules = SentRegistration.ReadingRules(
                storesAdvertisingID: app.policy.storesAdvertisingID, links: links)
            let sha256 = { @Sendable (bytes: [UInt8]) in Array(SHA256.hash(data: bytes)) }
            try await withStore(database) { store in
                for number in fleet.indices {
                    let phone = fleet[number]
                    let digest = SentRegistration.digest(
                        of: phone.body(), by: phone.owner, reading: rules, sha256: sha256)
                    let sent = SentRegistration(
                        on: InstallationKey(app: app.number, installID: phone.installID),
                        by: RegistrationClaim(of: app, owner: phone.owner), mayHaveTopics: false, digest: digest
                    ) { throw StoreError.failed("installation \(number) is read") }
                    let outcome = try await store.register(sent, ifDirectoryIs: nil)
                    #expect(outcome.status == .unchanged)
                }
            }
        }
    }

    @Test func history_equalsTheServicesHistory() async throws {
        try await withDatabase { database, app in
            try await FleetLoader().load(try self.fleet(app, count: 300), into: database)
            let odd = try await PostgresSession.withSession(database) { session in
                try session.execute(
                    """
                    SELECT count(*) FROM installation i
                    FULL JOIN token_event e USING (app_id, install_id)
                    FULL JOIN token_holder h USING (app_id, install_id)
                    LEFT JOIN installation_owner o USING (app_id, install_id)
                    WHERE (e.event = 'registered' AND e.reason = 'firstRegistration' AND e.generation_before = 0
                        AND e.generation_after = i.generation AND e.token_sha256 = i.token_sha256
                        AND e.user_id IS NOT DISTINCT FROM i.user_id AND e.at = i.created_at
                        AND h.provider = i.provider AND h.token_sha256 = i.token_sha256
                        AND o.user_id IS NOT DISTINCT FROM i.user_id
                        AND o.session_id IS NOT DISTINCT FROM i.session_id) IS NOT true
                    """)[0].decode(0, as: Int.self)
            }
            #expect(odd == 0)
            // The roll-up's counts are already correct.
            let report = try await RollUpRebuild(database).run()
            #expect(report.cells == 0 && report.installations == 0 && report.folded == 0)
        }
    }

    @Test func progress_countsUp_andHistoryCanBeOmitted() async throws {
        try await withDatabase { database, app in
            let seen = Seen()
            var loader = FleetLoader()
            loader.writesHistory = false
            loader.progress = { seen.append($0) }
            let count = FleetLoader.installationsPerTransaction + 10
            try await loader.load(try self.fleet(app, count: count), into: database)
            #expect(seen.all == [count - 10, count])
            let events = try await PostgresSession.withSession(database) { session in
                try session.execute("SELECT count(*) FROM token_event")[0].decode(0, as: Int.self)
            }
            #expect(events == 0)
        }
    }
}

/// Collects numbers from any thread.
private final class Seen: Sendable {
    private let numbers = Locked<[Int]>([])

    var all: [Int] { numbers.withLock { $0 } }

    func append(_ number: Int) {
        numbers.withLock { $0.append(number) }
    }
}
