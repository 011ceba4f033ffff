import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Units in a pipeline")
struct PipelineTests {
    @Test func units_returnTheirOwnResults_whenManyAreInFlight() async throws {
        try await withConnection { connection in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let result = try await connection.execute("SELECT \(number) + 1, \("text \(number)")")
                        return try result[0].decode(0) == number + 1 && result[0].decode(1) == "text \(number)"
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func failure_staysInItsUnit_whenOthersAreInFlight() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (id int PRIMARY KEY)")
            async let good = connection.execute("INSERT INTO t VALUES (\(Int32(1)))")
            async let bad = postgresError {
                _ = try await connection.execute([
                    "INSERT INTO t VALUES (\(Int32(2)))", "INSERT INTO t VALUES (\(Int32(1)))",
                    "SELECT count(*) FROM t",
                ])
            }
            async let after = connection.execute("INSERT INTO t VALUES (\(Int32(3)))")
            #expect(try await good.affectedRows == 1)
            #expect(try await bad.kind == .uniqueViolation(constraint: "t_pkey"))
            #expect(try await after.commandTag == "INSERT 0 1")
            let ids = try await connection.execute("SELECT id FROM t ORDER BY id").map {
                try $0.decode(0, as: Int.self)
            }
            #expect(ids == [1, 3])
        }
    }

    @Test func unit_isOneTransaction_whenAStatementFails() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (id int)")
            let error = try await postgresError {
                _ = try await connection.execute(["INSERT INTO t VALUES (1)", "SELECT 1 / \(0)"])
            }
            #expect(error.kind == .invalidData)
            #expect(error.statement == "SELECT 1 / $1")
            #expect(try await connection.execute("SELECT count(*) FROM t")[0].decode(0) == 0)
        }
    }

    @Test func commitOfAUnit_fails_whenADeferredConstraintIsViolated() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            let error = try await postgresError {
                _ = try await connection.execute(["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"])
            }
            #expect(error.kind == .uniqueViolation(constraint: "t_id_key"))
            #expect(try await connection.execute("SELECT count(*) FROM t")[0].decode(0) == 0)
        }
    }

    @Test func statement_isPreparedLater_whenItsFirstPreparationFailed() async throws {
        let select = PreparedSQL("SELECT count(*) FROM later")
        try await withConnection { connection in
            let error = try await postgresError { _ = try await connection.execute(PostgresStatement(select)) }
            #expect(error.kind == .undefinedTable)
            _ = try await connection.execute("CREATE TABLE later (id int)")
            for _ in 0..<3 { #expect(try await connection.execute(PostgresStatement(select))[0].decode(0) == 0) }
            let names = try await connection.execute(
                "SELECT count(*) FROM pg_prepared_statements WHERE statement = \(select.text)")
            #expect(try names[0].decode(0) == 1)
        }
    }

    @Test func statement_isPreparedAgain_whenTheTableChanged() async throws {
        let select = PreparedSQL("SELECT * FROM t")
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (id int)")
            _ = try await connection.execute(PostgresStatement(select))
            _ = try await connection.execute("ALTER TABLE t ADD name text")
            let error = try await postgresError { _ = try await connection.execute(PostgresStatement(select)) }
            #expect(error.kind == .stalePlan && error.retry == .yes)
            #expect(try await connection.execute(PostgresStatement(select)).column("name") == 1)
        }
    }

    @Test(arguments: ["FROM STDIN", "TO STDOUT"])
    func copy_isRefused_whereRowsOfAResultAreExpected(_ direction: String) async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (id int)")
            let error = try await postgresError {
                _ = try await connection.execute("COPY t \(sql: PostgresSQL(trusted: direction))")
            }
            #expect([.protocolViolation, .connectionLost].contains(error.kind), "\(error)")
        }
    }

    @Test func statements_areDeallocated_whenTheCacheIsFull() async throws {
        try await withConnection { connection in
            for number in 0..<300 {
                let sql = PostgresSQL(identifier: "column \(number)")
                _ = try await connection.execute("SELECT 1 AS \(sql: sql)")
            }
            let count = try await connection.execute("SELECT count(*) FROM pg_prepared_statements")
            #expect(try count[0].decode(0, as: Int.self) == 256)
        }
    }

    @Test func bigUnits_passInBothDirections_whenTheyExceedTheSocketsBuffers() async throws {
        try await withConnection { connection in
            let text = String(repeating: "ä", count: 3_000_000)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await connection.execute("SELECT \(text)")[0].decode(0) == text }
                }
                for try await isSame in group { #expect(isSame) }
            }
        }
    }

    @Test func unit_isRefused_whenTooManyAreInFlight() async throws {
        try await withConnection { connection in
            let kinds = try await withThrowingTaskGroup(of: PostgresError.Kind?.self) { group in
                for _ in 0...PostgresConnection.unitsMax {
                    group.addTask {
                        do {
                            _ = try await connection.execute("SELECT pg_sleep(0.03)")
                            return nil
                        } catch let error as PostgresError { return error.kind }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(kinds.compactMap { $0 } == [.queueFull])
        }
    }

    @Test func unit_isCompleted_whenItsTaskIsCancelled() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (id int)")
            let task = Task {
                try await connection.execute(["SELECT pg_sleep(0.05)", "INSERT INTO t VALUES (1)"]).count
            }
            try await eventually("the unit is in flight") { await connection.unitsInFlight > 0 }
            task.cancel()
            #expect(try await task.value == 2)
            #expect(try await connection.execute("SELECT count(*) FROM t")[0].decode(0) == 1)
        }
    }

    @Test func error_showsNoValues_whenTheServerQuotesThem() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TABLE t (token text UNIQUE, CHECK (token <> 'secret-b'))")
            _ = try await connection.execute("INSERT INTO t VALUES (\("secret-a"))")
            let statements: [PostgresStatement] = [
                "INSERT INTO t VALUES (\("secret-a"))", "SELECT \("secret-c")::int",
                "INSERT INTO t VALUES (\("secret-b"))",
                "SELECT \("secret-d")::json",
            ]
            for statement in statements {
                let error = try await postgresError { _ = try await connection.execute(statement) }
                #expect(!error.description.contains("secret-"))
                #expect(!error.debugDescription.contains("secret-"))
                #expect(!String(reflecting: error).contains("secret-"))
                #expect(error.retry == .no)
            }
        }
    }
}

@Suite("Connections that break")
struct BrokenConnectionTests {
    @Test func units_failAtTheirDeadline_whenTheServerIsSlow() async throws {
        try await withConnection { connection in
            let error = try await postgresError {
                _ = try await connection.execute("SELECT pg_sleep(60)", timeout: .milliseconds(100))
            }
            #expect(error.kind == .timeout && error.retry == .unknownOutcome)
            #expect(await !connection.isOpen)
            let next = try await postgresError { _ = try await connection.execute("SELECT 1") }
            #expect(next.kind == .connectionLost && next.retry == .yes)
        }
    }

    @Test func unit_failsAtItsDeadline_whenTheNetworkDropsIt() async throws {
        try await withProxiedConnection { connection, proxy in
            _ = try await connection.execute("SELECT 1")
            proxy.dropBytes()
            let error = try await postgresError {
                _ = try await connection.execute("SELECT 1", timeout: .milliseconds(100))
            }
            #expect(error.kind == .timeout)
        }
    }

    @Test func unitsInFlight_fail_whenTheConnectionIsCut() async throws {
        try await withProxiedConnection { connection, proxy in
            let tasks = (0..<4).map { _ in
                Task { try await postgresError { _ = try await connection.execute("SELECT pg_sleep(60)") } }
            }
            try await eventually("the units are in flight") { await connection.unitsInFlight == 4 }
            proxy.cut()
            for task in tasks {
                let error = try await task.value
                #expect(error.kind == .connectionLost)
                #expect(error.retry == .unknownOutcome)
            }
            #expect(await !connection.isOpen)
        }
    }

    @Test func unit_reportsTheReason_whenTheServerEndsTheSession() async throws {
        try await withConnection { connection in
            let processID = await connection.serverProcessID
            let error = try await postgresError {
                _ = try await connection.execute("SELECT pg_terminate_backend(\(processID))")
            }
            #expect(error.kind == .adminShutdown && error.retry == .unknownOutcome)
            try await eventually("the connection is closed") { await !connection.isOpen }
        }
    }

    private func withProxiedConnection(
        _ body: @escaping @Sendable (PostgresConnection, CuttingProxy) async throws -> Void
    ) async throws {
        try await ThrowawayCluster.withDatabase { server in
            let proxy = try CuttingProxy(server.connectionString)
            defer { proxy.stop() }
            let configuration = try PostgresConfiguration(proxy.connectionString)
            try await withClient(configuration, limits: .single) { client in
                try await client.withConnection { try await body($0, proxy) }
            }
        }
    }
}
