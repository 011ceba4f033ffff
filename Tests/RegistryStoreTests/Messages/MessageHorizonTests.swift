import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Folded changes of a message cost nothing, and none is left out (fine print 56)", .stores)
struct MessageHorizonTests {
    private let stores = TestStores.lent!

    /// A backup or a long export keeps folded rows from being vacuumed.
    @Test func foldedChanges_areNotRead_underALongSnapshot() async throws {
        try await stores.postgres.withTransaction(.snapshot) { snapshot in
            _ = try await snapshot.execute("SELECT count(*) FROM message_delta")
            for _ in 0..<8 {
                try await stores.addChanges(5_000)
                try await MessageFolder(postgres: stores.postgres).fold()
            }
            try await stores.addChanges(3)
            let app = stores.app.number
            let statements = [
                MessageSumStatements.counts(app.rawValue, 1 as Int64),
                MessageSumStatements.timeline(app.rawValue, 1 as Int64, 3_600 as Int64),
                MessageSumStatements.waiting(), MessageSumStatements.fold(app.rawValue, 9),
            ]
            for statement in statements {
                let read = try await stores.entriesRead(by: statement)
                #expect((1...20).contains(read), "\(read): \(statement)")
            }
        }
        try await MessageFolder(postgres: stores.postgres).fold()
        #expect(try await stores.targeted() == 40_003)
    }

    /// The horizon is not beyond a transaction that has begun to write and is still open.
    @Test(arguments: [false, true]) func lateChange_counts_thoughLaterOnesAreFolded(atNight isNight: Bool) async throws
    {
        try await stores.postgres.withTransaction { late in
            _ = try await late.execute([stores.change(1)])
            try await stores.addChanges(5_000)
            if isNight {
                try await PostgresSession.withSession(stores.configuration) { try MessageFolder.foldAll(in: $0) }
            } else {
                try await MessageFolder(postgres: stores.postgres).fold()
            }
            #expect(try await stores.targeted() == 5_000)
        }
        #expect(try await stores.targeted() == 5_001)
        try await MessageFolder(postgres: stores.postgres).fold()
        #expect(try await stores.targeted() == 5_001)
        #expect(try await stores.count("SELECT count(*) FROM message_delta") == 0)
    }

    @Test func eachChange_countsOnce_whileServicesFold_andAfterARestore() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { for _ in 0..<12 { try await stores.addChanges(3_000) } }
                group.addTask {
                    let folder = MessageFolder(postgres: stores.postgres)
                    var batches: [AppNumber: FoldBatch] = [:]
                    for _ in 0..<12 { try await folder.fold(&batches) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await stores.targeted() == 108_000)
        // As if the dump had been of a cluster that had counted further.
        _ = try await stores.sql("UPDATE rollup_state SET message_horizon = 999999999")
        _ = try await stores.sql("UPDATE change_epoch SET identity = 'old'")
        #expect(try await stores.brokenRollUp() == ["rollup-horizon"])
        #expect(try await RestoredEvents.adopt(stores.configuration))
        try await stores.addChanges(1)
        #expect(try await stores.targeted() == 108_001)
    }
}

extension TestStores {
    /// Changes of a message, in one transaction.
    fileprivate func change(_ count: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO message_delta
                (app_id, message, cell, minute, targeted, accepted, failed, delivered, opened, dismissed)
            SELECT \(app.number.rawValue), 1, n % 7, now(), 1, 0, 0, 0, 0, 0 FROM generate_series(1, \(count)) AS n
            """
        ).unprepared()
    }

    fileprivate func addChanges(_ count: Int64) async throws { _ = try await sql(change(count)) }

    fileprivate func targeted() async throws -> Int64 {
        try await sql(MessageSumStatements.counts(app.number.rawValue, 1 as Int64))[0].decode(0)
    }

    /// The entries of indexes and the rows of message_delta that a statement reads, dead ones among them.
    fileprivate func entriesRead(by statement: PostgresStatement) async throws -> Int64 {
        try await PostgresSession.withSession(configuration) { session in
            let entries: PostgresStatement = """
                SELECT sum(pg_stat_get_xact_tuples_returned(oid))::bigint FROM pg_class
                WHERE oid = 'message_delta'::regclass OR oid IN (
                    SELECT indexrelid FROM pg_index WHERE indrelid = 'message_delta'::regclass)
                """
            try session.run(script: "BEGIN")
            _ = try session.execute(statement)
            let read: Int64 = try session.execute(entries)[0].decode(0)
            try session.run(script: "ROLLBACK")
            return read
        }
    }
}
