import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The audit log records changes and refusals with their actors")
    struct AuditTests {
        /// The audit lines about an app, which are JSON: the service does not log to a terminal.
        private func lines(_ app: RegistryApp, _ message: String) -> [JSON] {
            app.registry.service.command.log.split(separator: "\n").filter { $0.contains(app.id) }
                .compactMap { try? JSON(parsing: $0.utf8) }
                .filter { $0["message"].string == message }
        }

        private func expect(
            _ app: RegistryApp, _ message: String, actor: String, _ more: [String: String] = [:],
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            var found: [JSON] = []
            try await eventually("\(message) is logged") {
                found = lines(app, message).filter { $0["actor"].string == actor }
                return !found.isEmpty
            }
            let line = try #require(found.last)
            for (name, value) in more {
                #expect(line[name].string == value, "\(line.text)", sourceLocation: sourceLocation)
            }
            for name in ["address", "method", "route", "requestId", "app"] {
                #expect(line[name].string != nil, "\(name): \(line.text)", sourceLocation: sourceLocation)
            }
        }

        @Test func changes_areLogged_withActorAppAndMembers() async throws {
            let app = try await RegistryApp.make()
            let admin = "admin:" + app.keyID(.admin)
            try await expect(app, "app created", actor: "admin", ["app": app.id, "members": ""])
            _ = try await app.send("PUT", "", ["grace": "P5D", "allowedOrigins": ["*"]], by: .role(.admin))
            try await expect(app, "policy replaced", actor: admin, ["members": "grace,allowedOrigins"])
            _ = try await app.send("PATCH", "", ["grace": .null], by: .role(.admin))
            try await expect(app, "policy changed", actor: admin, ["members": "grace"])
            let key = try await app.send("POST", "/keys", ["name": "x", "roles": ["sender"]], by: .role(.admin)).json
            let id = try #require(key["id"].string)
            try await expect(app, "key created", actor: admin, ["keyId": id, "name": "x", "roles": "sender"])
            _ = try await app.send("DELETE", "/keys/\(id)", by: .role(.admin))
            try await expect(app, "key revoked", actor: admin, ["keyId": id])
            let marketing = "marketing:" + app.keyID(.marketing)
            _ = try await app.send("PUT", "/segments/s", ["filter": [:]], by: .role(.marketing))
            try await expect(app, "segment saved", actor: marketing, ["segment": "s"])
            for name in ["unknown", "s"] {
                _ = try await app.send("DELETE", "/segments/\(name)", by: .role(.marketing))
            }
            try await expect(app, "segment deleted", actor: marketing, ["segment": "s"])
            #expect(lines(app, "segment deleted").count == 1, "an unknown segment is not deleted")
            #expect(!app.registry.service.command.log.contains(key["key"].string ?? "prk_"))
        }

        @Test func refusals_areLogged_withActorAndReason() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            _ = try await app.put("phone", as: "alice")
            _ = try await app.send("GET", "", by: .role(.sender))
            try await expect(app, "refused", actor: "sender:" + app.keyID(.sender), ["reason": "forbidden"])
            _ = try await app.logOut("phone", by: .role(.client))
            try await expect(app, "refused", actor: "client:" + app.keyID(.client), ["reason": "forbidden"])
            _ = try await app.get("phone", by: .text(other.key(.admin)))
            try await expect(
                app, "refused", actor: "admin:" + other.keyID(.admin), ["reason": "key-of-another-app"])
        }

        /// An event of an app's admin names the role admin, not one of the roles that it includes.
        @Test func event_namesTheRoleAdmin() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", by: .role(.admin))
            #expect(try await app.events(of: "phone").last?.actor == "admin:" + app.keyID(.admin))
        }
    }
}
