import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Audiences take their part of the database and no more", .serialized)
struct AudienceLimitTests {
    /// Lends an app of a service with settings of its own.
    private func withApp(
        _ environment: [String: String], _ body: (RegistryApp) async throws -> Void
    ) async throws {
        try await withRegistry(eventLoops: 1, environment: environment) { registry in
            try await body(try await RegistryApp.make(in: registry))
        }
    }

    /// What only questions about local times read, and no registration.
    private static let question: JSON = ["filter": ["localTime": ["between": ["09:00", "10:00"]]]]
    private static let lock: PostgresStatement = "LOCK TABLE known_time_zone IN ACCESS EXCLUSIVE MODE"

    @Test func slowQuestion_isRefused_asTooExpensive() async throws {
        try await withApp(["PUSH_REGISTRY_AUDIENCE_TIMEOUT": "200ms"]) { app in
            try await app.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.lock)
                let answer = try await app.ask("count", Self.question)
                #expect(answer.status == 422 && answer.code == "filter-too-expensive")
            }
            #expect(try await app.ask("count", Self.question).status == 200)
        }
    }

    @Test func registrations_goOn_whileQuestionsWaitForEachOther() async throws {
        try await withApp(["PUSH_REGISTRY_AUDIENCE_TIMEOUT": "4s", "PUSH_REGISTRY_AUDIENCE_CONNECTIONS": "2"]) { app in
            try await app.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.lock)
                async let answers = race(6) { _ in try await app.ask("count", Self.question) }
                try await eventually("questions hang") {
                    try await app.database.count(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'push-registry audiences' AND wait_event_type = 'Lock'"
                    ) == 2
                }
                for number in 0..<20 { #expect(try await app.put("phone-\(number)").status == 201) }
                let statuses = try await answers.map { "\($0.status) \($0.code ?? "")" }
                #expect(statuses.filter { $0 == "422 filter-too-expensive" }.count == 2)
                #expect(statuses.filter { $0 == "503 overloaded" }.count == 4)
                #expect(try await answers.allSatisfy { $0.status != 503 || $0["Retry-After"] == "1" })
            }
        }
    }

    @Test func audiences_areReadElsewhere_whereThatIsSaid() async throws {
        try await withApp(["PUSH_REGISTRY_READ_DATABASE_URL": "host=/nonexistent"]) { app in
            #expect(try await app.put("phone").status == 201)
            let answer = try await app.ask("count", ["filter": [:]])
            #expect(answer.status == 503 && answer.code == "database-unavailable" && answer["Retry-After"] == "1")
        }
    }

    /// Installations with long tokens, 64 KB each: of hundreds the server has to wait for the reader, as no buffer holds them.
    private func fill(_ app: RegistryApp, _ count: Int) async throws {
        _ = try await app.put("phone")
        let copies: PostgresStatement = """
            INSERT INTO installation
            SELECT (jsonb_populate_record(i, jsonb_build_object(
                'install_id', 'copy-' || g, 'token', t.text, 'token_sha256', sha256(t.text::bytea)))).*
            FROM installation i JOIN app ON app.id = app_id CROSS JOIN generate_series(1, \(Int64(count) - 1)) AS g
                CROSS JOIN LATERAL (SELECT repeat(md5(g::text), 2000) AS text) AS t
            WHERE identifier = \(app.id)
            """
        _ = try await app.database.rows(copies)
    }

    @Test func export_breaksOff_whenItsSessionEnds() async throws {
        try await withApp([:]) { app in
            try await fill(app, 400)
            let connection = try HTTPConnection(port: app.registry.client.port)
            try await connection.send(
                app.request("POST", "/audience/export", ["filter": [:]], by: .role(.sender)).bytes)
            try await eventually("the export waits for its reader") {
                try await app.database.count(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE application_name = 'push-registry audiences' AND state = 'idle in transaction' AND query LIKE 'FETCH%'
                        AND state_change < now() - interval '300 milliseconds'
                    """) == 1
            }
            _ = try await app.database.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'push-registry audiences'"
            )
            await #expect(throws: HTTPClientError.closed) { try await connection.response() }
            #expect(try await app.export(["filter": [:]]).count == 400)
        }
    }

    @Test func export_endsItsTransaction_whenItsReaderLeaves() async throws {
        try await withApp([:]) { app in
            try await fill(app, 400)
            var connection: HTTPConnection? = try HTTPConnection(port: app.registry.client.port)
            try await connection?.send(
                app.request("POST", "/audience/export", ["filter": [:]], by: .role(.sender)).bytes)
            func transactions() async throws -> Int {
                try await app.database.count(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'push-registry audiences' AND xact_start IS NOT NULL"
                )
            }
            try await eventually("the export runs") { try await transactions() == 1 }
            connection = nil
            try await eventually("the export is over", within: .seconds(10)) { try await transactions() == 0 }
        }
    }

    @Test func export_isGzip_forWhoPrefersIt() async throws {
        try await withApp([:]) { app in
            try await fill(app, 50)
            let answer = try await app.send(
                "POST", "/audience/export", ["filter": [:]], by: .role(.sender), fields: [("Accept-Encoding", "gzip")])
            #expect(answer["Content-Encoding"] == "gzip" && answer.body.prefix(2) == [0x1F, 0x8B])
            #expect(answer.body.count < 50 * 64_000)
        }
    }
}
