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

    /// What questions read, and no registration.
    private static let question: JSON = ["filter": ["localTime": ["between": ["09:00", "10:00"]]]]
    private static let lock: PostgresStatement = "LOCK TABLE rollup_state IN ACCESS EXCLUSIVE MODE"

    @Test func slowQuestion_isRefused_asTooExpensive() async throws {
        try await withApp(["PUSH_REGISTRY_AUDIENCE_TIMEOUT": "200ms"]) { app in
            try await app.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.lock)
                let answer = try await app.ask("count", Self.question)
                #expect(answer.status == 422 && answer.code == "filter-too-expensive")
            }
            // On a busy machine even a quick one may take longer than so short a limit.
            try await eventually("questions are answered again") {
                try await app.ask("count", Self.question).status == 200
            }
        }
    }

    @Test func registrations_goOn_whileQuestionsWaitForEachOther() async throws {
        try await withApp(["PUSH_REGISTRY_AUDIENCE_TIMEOUT": "4s", "PUSH_REGISTRY_AUDIENCE_CONNECTIONS": "2"]) { app in
            try await app.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.lock)
                async let answers = race(6) { _ in try await app.ask("count", Self.question) }
                try await eventually("questions hang") {
                    try await app.database.count(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE application_name = 'push-registry audiences' AND wait_event_type = 'Lock'
                        """
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
}
