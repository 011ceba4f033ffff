import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A large body is read only for a caller whom the route accepts")
    struct AdmissionTests {
        private func status(_ app: RegistryApp, _ method: String, _ path: String, key: String?) async throws -> Int {
            let connection = try TestConnection(port: app.registry.client.port)
            let credential = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
            let head = "\(method) \(app.path)\(path) HTTP/1.1\r\nHost: t\r\n\(credential)Expect: 100-continue\r\n"
            try await connection.send(Array("\(head)Content-Length: 10000\r\n\r\n".utf8))
            let statusLine = try await connection.receive("HTTP/1.1 100".utf8.count)
            return Int(String(decoding: statusLine.suffix(3), as: UTF8.self)) ?? 0
        }

        @Test(arguments: [
            ("POST", "/feedback", [RegistryApp.Role.service, .sender]),
            ("PUT", "/installations/phone", [.client, .service]),
            ("PUT", "", [.admin]), ("POST", "/audience/count", [.marketing, .sender]),
        ])
        func head_isRefused_unlessItsCredentialFitsAppAndRole(
            _ method: String, _ path: String, _ roles: [RegistryApp.Role]
        ) async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            #expect(try await status(app, method, path, key: nil) == 401)
            #expect(try await status(app, method, path, key: other.key(roles[0])) == 404)
            #expect(try await status(app, method, path, key: app.key(.support)) == 403)
            for role in roles { #expect(try await status(app, method, path, key: app.key(role)) == 100) }
        }

        /// A late logout is accepted for a month, every other call is not.
        @Test func lateJWT_opensOnlyALogout() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let late = app.text(of: UserJWT.make("alice", age: 7_200, life: -3_600))
            #expect(try await status(app, "PUT", "/installations/phone", key: late) == 401)
            #expect(try await status(app, "PATCH", "/installations/phone/topics", key: late) == 401)
            #expect(try await status(app, "POST", "/installations/phone/logout", key: late) == 413)
        }
    }
}
