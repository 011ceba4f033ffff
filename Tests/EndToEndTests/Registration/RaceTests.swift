import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A token has one holder at any time, in any race (R1)")
    struct RaceTests {
        private static let clients = 64

        @Test func token_hasOneHolder_when64InstallationsClaimItAtOnce() async throws {
            let app = try await RegistryApp.make()
            let token = SampleRegistration.token("contended")
            for _ in 1...3 {
                let statuses = try await race(Self.clients) { number in
                    let body = SampleRegistration.make("phone-\(number)", token: token)
                    return try await app.put("phone-\(number)", body, as: "user-\(number)").status
                }
                #expect(statuses.allSatisfy { $0 == 200 || $0 == 201 }, "\(statuses)")
                #expect(try await app.holders(of: token).count == 1)
            }
            let superseded = try await app.database.count(
                """
                SELECT count(*) FROM installation JOIN app ON app.id = app_id
                WHERE identifier = \(app.id) AND state = 'superseded' AND token IS NULL AND token_sha256 IS NULL
                """)
            #expect(superseded == Self.clients - 1)
            try await app.expectCompleteHistory()
        }

        @Test func installation_isCreatedOnce_when64ClientsRegisterItAtOnce() async throws {
            let app = try await RegistryApp.make()
            let responses = try await race(Self.clients) { _ in try await app.put("phone", as: "alice") }
            #expect(responses.count { $0.status == 201 } == 1, "\(Self.refusals(responses))")
            #expect(responses.count { $0.json["status"] == "unchanged" } == Self.clients - 1)
            #expect(Set(responses.map(\.generation)).count == 1)
            #expect(try await app.events(of: "phone").count == 1)
        }

        @Test func installation_hasOneStepPerOwner_when64UsersRegisterItAtOnce() async throws {
            let app = try await RegistryApp.make()
            let responses = try await race(Self.clients) { try await app.put("phone", as: "user-\($0)") }
            #expect(Self.refusals(responses).isEmpty)
            #expect(Set(responses.map(\.generation)).count == Self.clients)
            #expect(try await app.events(of: "phone").count == Self.clients)
            try await app.expectCompleteHistory()
        }

        /// The bodies of all responses but successes.
        private static func refusals(_ responses: [HTTPResponse]) -> [String] {
            responses.filter { $0.status > 201 }.map(\.text)
        }

        @Test func pipelinedRequests_areAnsweredInOrder_whenTheyConcernOneInstallation() async throws {
            let app = try await RegistryApp.make()
            let connection = try TestConnection(port: app.registry.client.port)
            let requests = (0..<32).map { app.registration("phone", as: "user-\($0)") }
            try await connection.send(requests.flatMap(\.bytes))
            var users: [String?] = []
            for _ in requests { users.append(try await connection.response().json["userId"].string) }
            #expect(users == (0..<32).map { "user-\($0)" })
        }
    }
}
