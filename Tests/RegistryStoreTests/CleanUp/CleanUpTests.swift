import Dispatch
import PostgresClient
import PushRegistry
import Synchronization
import Testing

@testable import RegistryStore

@Suite("The night job works in small steps, each of them durable and over at once")
struct CleanUpTests {
    @Test func plan_isReadInParts_withoutATransactionThatOthersWaitFor() async throws {
        try await TestStores.with { stores in
            try await stores.fill(400)
            var options = CleanUp.Options()
            (options.pagesPerRead, options.isDryRun) = (4, true)
            let open = Mutex<[Int]>([])
            let configuration = stores.configuration
            let report = try await CleanUp(configuration).run(options) { progress in
                guard case .reading = progress else { return }
                let count = try? aside(configuration) {
                    try $0.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")[0]
                        .decode(0, as: Int.self)
                }
                open.withLock { $0.append(count ?? 1) }
            }
            let found = open.withLock { $0 }
            #expect(found.count > 4 && found.allSatisfy { $0 == 0 })
            #expect(report.apps.map(\.active) == [400] && report.counts.total == 0)
        }
    }

    /// A transaction id that a session has taken, and a snapshot that it holds, would stall the change feed and vacuum.
    @Test func reading_takesNoTransactionID() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: "aaaaaaaaaaaaaaaa")
            try await PostgresSession.withSession(stores.configuration) { session in
                _ = try session.execute(CleanUpStatements.createBounds)
                try session.run(script: "BEGIN")
                _ = try session.execute(CleanUpStatements.read(TablePages(range: 0..<64)))
                let isFree: Bool = try session.execute("SELECT pg_current_xact_id_if_assigned() IS NULL")[0].decode(0)
                #expect(isFree)
            }
        }
    }

    @Test func batch_isOnDisk_beforeReadersOfChangesSeeIt() async throws {
        try await TestStores.with { stores in
            let commits = try await PostgresSession.withSession(stores.configuration) { session in
                try session.run(script: CleanUp.sessionSettings)
                return try session.execute("SHOW synchronous_commit")[0].decode(0, as: String.self)
            }
            #expect(commits == "on")
        }
    }

    /// As one who registers between the reading and the batch.
    @Test func installation_isLeftAlone_whenItRegistersAfterItWasPlanned() async throws {
        try await TestStores.with { stores in
            try await stores.fill(20)
            try await stores.makeStale()
            var options = CleanUp.Options()
            options.breaker = CleanUpBreaker(maxShare: 1)
            let configuration = stores.configuration
            let report = try await CleanUp(configuration).run(options) { progress in
                guard case .retiring(0, of: 20) = progress else { return }
                try? aside(configuration) {
                    try $0.run(script: "UPDATE installation SET last_seen_at = now() WHERE install_id = 'i-7'")
                }
            }
            #expect(report.counts[.stale] == 19)
            #expect(try await stores.installation("i-7")?.state == .active)
        }
    }

    @Test func oldHistory_isRemovedInBatches_theOldestFirst() async throws {
        try await TestStores.with { stores in
            try await stores.fill(1)
            _ = try await stores.sql(
                "CREATE TABLE removed (transaction_id xid8 DEFAULT pg_current_xact_id(), id bigint)")
            _ = try await stores.sql(
                """
                CREATE FUNCTION tell_removed() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO removed (id) VALUES (old.id); RETURN old; END $$
                """)
            _ = try await stores.sql(
                """
                CREATE TRIGGER tell BEFORE DELETE ON token_event_default FOR EACH ROW EXECUTE FUNCTION tell_removed()
                """)
            _ = try await stores.sql(
                """
                INSERT INTO token_event_default (id, at, app_id, install_id, event, reason, actor, provider, state, generation_before,
                    generation_after)
                OVERRIDING SYSTEM VALUE
                SELECT -n, '2020-01-01', 1, 'gone', 'registered', 'new', 'test', 'apns', 'active', 0, 1
                FROM generate_series(1, 5001) AS n
                """)
            let report = try await CleanUp(stores.configuration).run(CleanUp.Options())
            #expect(report.historyRemoved == 5_001)
            let batches = try await stores.sql(
                "SELECT count(*) || ' to ' || max(id) FROM removed GROUP BY transaction_id ORDER BY transaction_id")
            #expect(try batches.map { try $0.decode(0, as: String.self) } == ["5000 to -2", "1 to -1"])
        }
    }
}

/// Does something in another session while the job, on whose thread this is called, waits.
private func aside<Value: Sendable>(
    _ configuration: PostgresConfiguration, _ body: @escaping @Sendable (PostgresSession) throws -> Value
) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<Value, any Error>?>(nil)
    Task {
        do {
            let value = try await PostgresSession.withSession(configuration, body)
            outcome.withLock { $0 = .success(value) }
        } catch {
            outcome.withLock { $0 = .failure(error) }
        }
        done.signal()
    }
    done.wait()
    return try outcome.withLock { $0 }!.get()
}

extension TestStores {
    /// `i-0`, `i-1`, …
    fileprivate func fill(_ count: Int) async throws {
        for number in 0..<count {
            try await register("i-\(number)", token: "aaaaaaaaaaaa" + String(1_000 + number))
        }
    }

    fileprivate func makeStale() async throws {
        _ = try await sql(
            """
            UPDATE installation SET created_at = created_at - interval '61 days',
                registered_at = registered_at - interval '61 days', last_seen_at = last_seen_at - interval '61 days'
            """)
    }
}
