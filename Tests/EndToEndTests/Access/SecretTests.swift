import EmbeddedPostgres
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A token occurs only in its own column (R12, R14)")
    struct SecretTests {
        /// A token that cannot occur by chance.
        private let token = "5ec2e7" + String(repeating: "ab54", count: 14) + "ff"

        /// The life of a token: registration, rotation, takeover, faults, deletion.
        private func exercise(_ app: RegistryApp) async throws -> [HTTPResponse] {
            let body = SampleRegistration.make("phone", token: token)
            var bad = body
            bad["device"]["installId"] = "other"
            var long = body
            long["token"] = .string(String(repeating: token, count: 7))
            return [
                try await app.put("phone", body, as: "alice"), try await app.put("phone", body, as: "bob"),
                try await app.put("other", SampleRegistration.make("other", token: token), as: "carol"),
                try await app.put("phone", bad), try await app.put("phone", long),
                try await app.put("phone", body, by: .none), try await app.put("phone", body, ifMatch: "\"1\""),
                try await app.get("other", by: .role(.marketing)), try await app.delete("other"),
                try await app.put("phone", body, as: "alice"),
            ]
        }

        @Test func responses_haveNoToken_onAnyCall() async throws {
            let app = try await RegistryApp.make()
            let responses = try await exercise(app)
            #expect(responses.map(\.status) == [201, 200, 201, 400, 400, 401, 412, 403, 204, 200])
            for response in responses { #expect(!response.text.lowercased().contains(token)) }
        }

        @Test func logs_haveNoToken() async throws {
            let app = try await RegistryApp.make()
            _ = try await exercise(app)
            #expect(!app.registry.service.command.log.lowercased().contains(token))
            // host='…/postgres/socket'; the logs are beside the sockets.
            let parts = app.registry.cluster.connectionString.split(separator: "'")
            let folder = URL(filePath: String(try #require(parts.dropFirst().first))).deletingLastPathComponent()
            let logs = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
                .filter { !$0.hasPrefix("data/") && $0.hasSuffix(".log") }
            #expect(!logs.isEmpty)
            for log in logs {
                let text = String(decoding: try Data(contentsOf: folder.appending(path: log)), as: UTF8.self)
                #expect(!text.lowercased().contains(token), "\(log)")
            }
        }

        @Test func tables_haveNoToken_exceptTheInstallationsColumn() async throws {
            let app = try await RegistryApp.make()
            _ = try await exercise(app)
            let tables = try await app.database.column(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1", as: String.self)
            #expect(tables.contains("token_event"))
            for table in tables where table != "installation" {
                let rows = try await app.database.count(
                    """
                    SELECT count(*) FROM \(identifier: table) t
                    WHERE position(\(token) in lower(t::text)) > 0
                        OR position(encode(\(token)::text::bytea, 'hex') in lower(t::text)) > 0
                    """)
                #expect(rows == 0, "\(table)")
            }
            #expect(try await app.holders(of: token) == ["phone"])
        }

        @Test func events_nameTheTokenByItsSHA256() async throws {
            let app = try await RegistryApp.make()
            _ = try await exercise(app)
            let expected = try await app.database.column(
                "SELECT encode(sha256(\(token)::text::bytea), 'hex')", as: String.self)
            for installID in ["phone", "other"] {
                let events = try await app.events(of: installID)
                #expect(Set(events.map(\.tokenSHA256)) == Set(expected))
            }
        }

        @Test func events_nameTheRoleAndKey_neverTheUser() async throws {
            let app = try await RegistryApp.make()
            _ = try await exercise(app)
            let actors = try await app.events(of: "phone").map(\.actor)
            #expect(Set(actors) == ["service:" + app.keyID(.service)])
            _ = try await app.registry.send("DELETE", app.path + "/installations/phone")
            #expect(try await app.events(of: "phone").last?.actor == "admin")
        }
    }
}
