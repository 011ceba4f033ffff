import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An installation is registered once, and changes step by step, in any race")
    struct RaceTests {
        private static let clients = 64

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
