import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Audience queries take only their share of the database", .serialized)
struct AudienceLimitTests {
    /// Lends an app of a service with the given settings.
    private func withApp(
        _ environment: [String: String], _ body: (RegistryApp) async throws -> Void
    ) async throws {
        try await withRegistry(eventLoops: 1, environment: environment) { registry in
            try await body(try await RegistryApp.make(in: registry))
        }
    }

    /// A table that the first audience query reads, and registrations in a cell that the service knows do not.
    private static let question: JSON = ["filter": ["localTime": ["between": ["09:00", "10:00"]]]]
    private static let lock: PostgresStatement = "LOCK TABLE rollup_cell IN ACCESS EXCLUSIVE MODE"

    @Test func slowQuery_isRefused_asTooExpensive() async throws {
        try await withApp(["PUSH_REGISTRY_AUDIENCE_TIMEOUT": "200ms"]) { app in
            try await app.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.lock)
                let response = try await app.ask("count", Self.question)
                #expect(response.status == 422 && response.code == "filter-too-expensive")
            }
            // On a busy machine even a quick query may exceed such a short limit.
            try await eventually("queries succeed again") {
                try await app.ask("count", Self.question).status == 200
            }
        }
    }

    @Test func registrations_continue_whileAudienceQueriesWait() async throws {
        try await withApp(["PUSH_REGISTRY_AUDIENCE_TIMEOUT": "4s", "PUSH_REGISTRY_AUDIENCE_CONNECTIONS": "2"]) { app in
            #expect(try await app.put("first").status == 201)
            try await app.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.lock)
                async let responses = race(6) { _ in try await app.ask("count", Self.question) }
                try await eventually("queries hang") {
                    try await app.database.count(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE application_name = 'push-registry audiences' AND wait_event_type = 'Lock'
                        """
                    ) == 2
                }
                for number in 0..<20 { #expect(try await app.put("phone-\(number)").status == 201) }
                let statuses = try await responses.map { "\($0.status) \($0.code ?? "")" }
                #expect(statuses.filter { $0 == "422 filter-too-expensive" }.count == 2)
                #expect(statuses.filter { $0 == "503 overloaded" }.count == 4)
                #expect(try await responses.allSatisfy { $0.status != 503 || $0["Retry-After"] == "1" })
            }
        }
    }

    @Test func audiences_areReadFromTheReadDatabase_whenItIsSet() async throws {
        try await withApp(["PUSH_REGISTRY_READ_DATABASE_URL": "host=/nonexistent"]) { app in
            #expect(try await app.put("phone").status == 201)
            let response = try await app.ask("count", ["filter": [:]])
            #expect(response.status == 503 && response.code == "database-unavailable" && response["Retry-After"] == "1")
        }
    }
}
