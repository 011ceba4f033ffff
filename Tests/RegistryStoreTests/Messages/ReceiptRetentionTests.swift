import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Receipts are dropped after their retention, sums after 400 days, no valid receipt (fine print 58)", .stores)
struct ReceiptRetentionTests {
    private let stores = TestStores.lent!

    private func purge(
        _ stores: TestStores, at time: Timestamp, retention: ISO8601Duration = .days(30)
    ) async throws {
        var draft = AppPolicy.Draft()
        draft.receiptRetention = retention
        let policy = try AppPolicy(draft)
        try await PostgresSession.withSession(stores.configuration) { [app = stores.app.number] session in
            let nodes = try CleanUpNodes(session)
            try MessagePartitions.Purge(session: session, nodes: nodes, policies: [(app, policy)], asOf: time).run {}
        }
    }

    private func rows(_ stores: TestStores) async throws -> [Int] {
        let row = try await stores.sql(
            """
            SELECT (SELECT count(*) FROM receipt), (SELECT count(*) FROM message_sum),
                (SELECT count(*) FROM message_minute), (SELECT count(*) FROM message)
            """)[0]
        return try (0..<4).map { try row.decode($0) }
    }

    /// A message with a receipt, created now, so that its partitions exist.
    private func prepare(_ stores: TestStores, expiresIn: ISO8601Duration) async throws -> Message {
        let store = PostgresMessageStore(LoopResources(postgres: stores.postgres))
        let now = Timestamp.now()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: stores.postgres.loop) { await store.run() }
            let message = try await store.put(
                try MessageName("m"), MessageContent(expiresIn: expiresIn), in: stores.app.number, at: now
            ).message
            let report = ReceiptReport(
                message: message.number, installation: InstallationHash(1), cell: 1, event: .opened, at: now)
            _ = try await store.count([report], of: stores.app.number)
            try await MessageFolder(postgres: stores.postgres).fold()
            group.cancelAll()
            return message
        }
    }

    @Test func receipts_areDropped_beforeSums() async throws {
        let message = try await prepare(stores, expiresIn: .days(7))
        #expect(try await rows(stores) == [1, 1, 1, 1])
        try await purge(stores, at: message.createdAt.advanced(by: .days(29)))
        #expect(try await rows(stores) == [1, 1, 1, 1])
        // A week's partition goes when all of the week is old.
        try await purge(stores, at: message.createdAt.advanced(by: .days(38)))
        #expect(try await rows(stores) == [0, 1, 1, 1])
        #expect(
            try await stores.sql("SELECT to_regclass('receipt_default') IS NOT NULL")[0].decode(0, as: Bool.self))
        try await purge(stores, at: message.createdAt.advanced(by: .days(432)))
        #expect(try await rows(stores) == [0, 0, 0, 0])
    }

    @Test func receipts_stay_whileOneIsValid_whateverThePolicySays() async throws {
        let message = try await prepare(stores, expiresIn: .days(60))
        try await purge(stores, at: message.createdAt.advanced(by: .days(45)), retention: .days(1))
        #expect(try await rows(stores) == [1, 1, 1, 1])
        try await purge(stores, at: message.createdAt.advanced(by: .days(68)), retention: .days(1))
        #expect(try await rows(stores) == [0, 1, 1, 1])
    }

    @Test func receiptsWithoutAPartition_areDeletedAsWell() async throws {
        _ = try await stores.sql(
            """
            INSERT INTO receipt (app_id, message, installation, events, added, cell)
            VALUES (\(stores.app.number.rawValue), 1, 1, 8, 8, 1)
            """)
        try await purge(stores, at: .now())
        #expect(try await rows(stores)[0] == 0)
    }

    /// One app keeps receipts for longer than the others, so no partition of theirs can be dropped.
    @Test func receiptsOfAnAppWithAShorterRetention_areDeletedInSmallSteps() async throws {
        let message = try await prepare(stores, expiresIn: .days(7))
        _ = try await stores.sql(
            """
            INSERT INTO receipt (app_id, message, installation, events, added, cell)
            SELECT app_id, message, n, 8, 8, 1 FROM receipt, generate_series(2, 12000) AS n
            """)
        _ = try await stores.sql("CREATE TABLE deletion (transaction_id xid8)")
        _ = try await stores.sql(
            """
            CREATE FUNCTION note_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN INSERT INTO deletion VALUES (pg_current_xact_id()); RETURN NULL; END $$
            """)
        _ = try await stores.sql(
            "CREATE TRIGGER noted AFTER DELETE ON receipt FOR EACH ROW EXECUTE FUNCTION note_deletion()")
        let policies = try [(stores.app.number, 30), (AppNumber(99), 60)].map { app, days in
            var draft = AppPolicy.Draft()
            draft.receiptRetention = .days(Int64(days))
            return (app: app, policy: try AppPolicy(draft))
        }
        let asOf = message.createdAt.advanced(by: .days(38))
        let configuration = stores.configuration
        // The row that another transaction has locked waits for the next night.
        try await stores.postgres.withTransaction { other in
            _ = try await other.execute("SELECT FROM receipt WHERE installation = 7 FOR UPDATE")
            try await PostgresSession.withSession(configuration) { session in
                let nodes = try CleanUpNodes(session)
                try MessagePartitions.Purge(session: session, nodes: nodes, policies: policies, asOf: asOf).run {}
            }
        }
        #expect(try await rows(stores) == [1, 1, 1, 1])
        let largest = try await stores.sql(
            "SELECT count(*) FROM deletion GROUP BY transaction_id ORDER BY 1 DESC LIMIT 1"
        )[0].decode(0, as: Int.self)
        #expect((1...CleanUpPace.batch(beside: 0)).contains(largest))
    }

    @Test func partitions_areCreated_once() async throws {
        let newest = try await stores.sql(
            """
            SELECT max(c.relname)::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'message_sum'::regclass AND c.relname <> 'message_sum_default'
                AND c.relname <= to_char(now(), '"message_sum_"YYYY_MM')
            """)[0].decode(0, as: String.self)
        _ = try await stores.sql("DROP TABLE \(identifier: newest)")
        let made = try await PostgresSession.withSession(stores.configuration) { session in
            try [Partitions.make(session), Partitions.make(session)]
        }
        #expect(made == [1, 0])
    }
}
