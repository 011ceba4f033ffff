import EmbeddedPostgres
import EventLoop
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("A pool on a real server")
struct PostgresClientTests {
    @Test func units_getResults_whenThereAreMoreThanThePoolHasRoomFor() async throws {
        try await withServer { _, client in
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    group.addTask { try await client.execute("SELECT \(number)")[0].decode(0) }
                }
                return try await group.reduce(0, +)
            }
            #expect(sum == 19_900)
            #expect(client.isReachable)
        }
    }

    /// The unit that hangs closes the connection that all share.
    @Test func readsSurvive_whenTheDeadlineOfANeighbourPasses() async throws {
        try await ThrowawayCluster.withDatabase { server in
            let limits = PostgresPoolLimits(connectionsMin: 1, connectionsMax: 1)
            try await withClient(try PostgresConfiguration(server.connectionString), limits: limits) { client in
                async let hanging = postgresError {
                    _ = try await client.execute("SELECT pg_sleep(60)", timeout: .milliseconds(300))
                }
                let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<20 {
                        group.addTask { try await client.read("SELECT \(number)")[0].decode(0) }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(sum == 190)
                #expect(try await hanging.kind == .timeout)
            }
        }
    }

    @Test func transaction_isCommitted_whenItsBodyReturns() async throws {
        try await withServer { _, client in
            try await client.withTransaction { transaction in
                _ = try await transaction.execute("INSERT INTO t VALUES (1)")
                #expect(try await client.count() == 0)
                try await transaction.commit(after: ["INSERT INTO t VALUES (2)"])
            }
            try await client.withTransaction { _ = try await $0.execute("INSERT INTO t VALUES (3)") }
            try await client.withTransaction { _ in }
            #expect(try await client.count() == 3)
        }
    }

    @Test func transaction_isRolledBack_whenItsBodyThrows() async throws {
        try await withServer { _, client in
            await #expect(throws: CancellationError.self) {
                try await client.withTransaction { transaction in
                    _ = try await transaction.execute("INSERT INTO t VALUES (1)")
                    throw CancellationError()
                }
            }
            let error = try await postgresError {
                try await client.withTransaction { transaction in
                    _ = try await transaction.execute("INSERT INTO t VALUES (1)")
                    try await transaction.commit(after: ["INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (1)"])
                }
            }
            #expect(error.kind == .uniqueViolation(constraint: "t_pkey"))
            #expect(try await client.count() == 0)
        }
    }

    @Test func transaction_fails_whenItsBodyHidesAnError() async throws {
        try await withServer { _, client in
            let error = try await postgresError {
                try await client.withTransaction { transaction in
                    _ = try await transaction.execute("INSERT INTO t VALUES (1)")
                    _ = try? await transaction.execute("SELECT 1 / 0")
                }
            }
            #expect(error.kind == .transactionAborted)
            #expect(try await client.count() == 0)
        }
    }

    @Test func transaction_isRolledBack_whenItsTaskIsCancelled() async throws {
        try await withServer { _, client in
            let task = Task {
                try await postgresError {
                    try await client.withTransaction { transaction in
                        _ = try await transaction.execute("INSERT INTO t VALUES (1)")
                        withUnsafeCurrentTask { $0?.cancel() }
                        try await transaction.commit(after: ["INSERT INTO t VALUES (2)"])
                    }
                }
            }
            let error = try await task.value
            #expect(error.kind == .cancelled)
            let count = try await client.count()
            #expect(count == 0)
        }
    }

    @Test func connection_isReplaced_whenItIsReturnedInATransaction() async throws {
        try await withServer(limits: PostgresPoolLimits(connectionsMin: 1, connectionsMax: 1)) { _, client in
            let first = try await client.withConnection { connection in
                _ = try await connection.execute("BEGIN")
                return await connection.serverProcessID
            }
            let second = try await client.withConnection { await $0.serverProcessID }
            #expect(first != second)
        }
    }

    @Test func wait_ends_whenItsTaskIsCancelled() async throws {
        try await withServer(limits: PostgresPoolLimits(connectionsMin: 1, connectionsMax: 1)) { _, client in
            try await client.withConnection { connection in
                let task = Task { try await postgresError { _ = try await client.execute("SELECT 1") } }
                task.cancel()
                #expect(try await task.value.kind == .cancelled)
                _ = try await connection.execute("SELECT 1")
            }
        }
    }

    @Test func wait_ends_whenThePoolStaysBusy() async throws {
        var limits = PostgresPoolLimits(connectionsMin: 1, connectionsMax: 1)
        limits.waitTimeout = .seconds(1)
        try await withServer(limits: limits) { _, client in
            try await client.withConnection { _ in
                let error = try await postgresError { _ = try await client.execute("SELECT 1") }
                #expect(error.kind == .timeout && error.retry == .yes)
            }
        }
    }

    @Test func sessions_areClosed_whenThePoolIsShutDown() async throws {
        try await ThrowawayCluster.withDatabase { server in
            let configuration = try PostgresConfiguration(server.connectionString, applicationName: "gone")
            try await withClient(configuration) { client in
                _ = try await client.execute("SELECT 1")
            }
            try await withClient(PostgresConfiguration(server.connectionString)) { client in
                try await eventually("the sessions are closed") {
                    let sessions = try await client.execute(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = \("gone")")
                    return try sessions[0].decode(0, as: Int.self) == 0
                }
            }
        }
    }
}

@Suite("A pool survives its server")
struct ReconnectTests {
    @Test func pool_reconnects_whenTheServerWasKilledAndRestarted() async throws {
        let statement = PreparedSQL("SELECT $1")
        try await withServer { server, client in
            _ = try await client.execute(PostgresStatement(statement, 1))
            await server.kill()
            try await eventually("the pool is unreachable") { !client.isReachable }
            let start = ContinuousClock.now
            let error = try await postgresError { _ = try await client.execute(PostgresStatement(statement, 1)) }
            #expect(error.kind == .unavailable)
            #expect(error.retry == .yes)
            #expect(ContinuousClock.now - start < .seconds(2))
            try await server.restart()
            try await eventually("the pool is reachable") { client.isReachable }
            #expect(try await client.execute(PostgresStatement(statement, 5))[0].decode(0) == 5)
        }
    }

    @Test func transaction_isSafeToRetry_whenItsSessionIsTerminatedBeforeTheCommit() async throws {
        try await withServer { _, client in
            let error = try await postgresError {
                try await client.withTransaction { transaction in
                    let session = try await transaction.execute("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
                    _ = try await client.execute("SELECT pg_terminate_backend(\(session))")
                    _ = try await transaction.execute("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error.retry == .yes)
            #expect(try await client.count() == 0)
        }
    }

    @Test func pool_opensNewConnections_whenAllWereCut() async throws {
        try await ThrowawayCluster.withDatabase { server in
            let proxy = try CuttingProxy(server.connectionString)
            defer { proxy.stop() }
            try await withClient(PostgresConfiguration(proxy.connectionString)) { client in
                for _ in 0..<5 {
                    _ = try await client.execute("SELECT 1")
                    proxy.cut()
                    try await eventually("a unit succeeds") { (try? await client.execute("SELECT 1")) != nil }
                }
            }
        }
    }

    @Test func requests_failSoon_whenThereIsNoServer() async throws {
        let configuration = try PostgresConfiguration("host=/nowhere password=hidden")
        try await withClient(configuration) { client in
            let error = try await postgresError { _ = try await client.execute("SELECT 1") }
            #expect(error.kind == .unavailable)
            #expect(!String(reflecting: error).contains("hidden"))
            #expect(!client.isReachable)
        }
    }

    @Test(.timeLimit(.minutes(30))) func run_returns_whenItsTaskIsCancelledBeforeItBegins() async throws {
        let configuration = try PostgresConfiguration("host=/nowhere")
        try await withLoop { loop in
            let client = PostgresClient(configuration, on: loop, logger: Logger(label: "test"))
            await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await client.run()
            }.value
            #expect(!client.isReachable)
        }
    }

    @Test func configuration_isRefusedWithoutItsText_whenItCannotBeParsed() {
        let error = #expect(throws: PostgresError.self) { try PostgresConfiguration("host=x hidden") }
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.debugDescription.contains("hidden") == false)
    }
}

/// A server with an empty table `t (id int PRIMARY KEY)` and a pool.
private func withServer(
    limits: PostgresPoolLimits = PostgresPoolLimits(),
    _ body: @escaping @Sendable (EmbeddedPostgres, PostgresClient) async throws -> Void
) async throws {
    try await ThrowawayCluster.withDatabase { server in
        try await withClient(PostgresConfiguration(server.connectionString), limits: limits) { client in
            _ = try await client.execute("CREATE TABLE t (id int PRIMARY KEY)")
            try await body(server, client)
        }
    }
}

extension PostgresClient {
    fileprivate nonisolated func count() async throws -> Int {
        try await execute("SELECT count(*) FROM t")[0].decode(0)
    }
}
