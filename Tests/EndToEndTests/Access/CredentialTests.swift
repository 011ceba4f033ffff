import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The credential determines what a caller may do")
    struct CredentialTests {
        @Test func call_isA401WithChallenge_whenCredentialIsMissing() async throws {
            let app = try await RegistryApp.make()
            let response = try await app.put("phone", by: .none)
            #expect(response.status == 401)
            #expect(response.code == "missing-credential")
            #expect(response["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
            #expect(response["Content-Type"] == "application/problem+json")
            #expect(response.json["requestId"].string == response["X-Request-Id"])
        }

        @Test func call_isA401WithChallenge_whenCredentialIsInvalid() async throws {
            let app = try await RegistryApp.make()
            let id = app.keyID(.client)
            for text in ["nonsense", "prk_\(id)_", "prk_\(id)_00", app.key(.client) + "0", "prk_0000000000000000_1"] {
                let response = try await app.put("phone", by: .text(text))
                #expect(response.status == 401)
                #expect(response.code == "invalid-credential")
                #expect(response["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
            }
        }

        @Test func call_isA401_whenSchemeIsNotBearer() async throws {
            let app = try await RegistryApp.make()
            for value in ["Basic \(app.key(.service))", app.key(.service), "Bearer", ""] {
                let response = try await app.send(
                    "GET", "/installations/phone", by: .none, fields: [("Authorization", value)])
                #expect(response.status == 401)
            }
            let response = try await app.send(
                "GET", "/installations/phone", by: .none, fields: [("Authorization", "bEARER \(app.key(.service))")])
            #expect(response.status == 404)
        }

        @Test func call_isA404_whenKeyIsAnotherApps() async throws {
            let (mine, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            for role in RegistryApp.Role.allCases {
                let response = try await mine.put("phone", by: .text(other.key(role)))
                #expect(response.status == 404)
                #expect(response.code == "unknown-app")
                #expect(try await mine.send("GET", "", by: .text(other.key(role))).status == 404)
            }
        }

        @Test func apps_areListed_onlyForTheAdminKey() async throws {
            let app = try await RegistryApp.make()
            let registry = app.registry
            let list = try await registry.send("GET", "/v1/apps")
            #expect(list.status == 200)
            #expect(list.json["apps"].array.contains { $0["app"].string == app.id })
            #expect(try await registry.send("GET", "/v1/apps", key: app.key(.admin)).status == 403)
            #expect(try await registry.send("GET", "/v1/apps", key: nil).status == 401)
            #expect(list.json["next"] == .null)
        }

        @Test func apps_arePaged_byTheirIDs() async throws {
            let app = try await RegistryApp.make()
            let registry = app.registry
            var (ids, after): ([String], String?) = ([], "")
            while let query = after {
                let page = try await registry.send("GET", "/v1/apps?limit=5\(query)").json
                let found = (page["apps"].array + page["unusable"].array).compactMap { $0["app"].string }.sorted()
                #expect((1...5).contains(found.count))
                ids += found
                after = page["next"].string.map { "&after=\($0)" }
            }
            #expect(ids == Set(ids).sorted())
            #expect(ids.contains(app.id))
            for query in ["limit=0", "limit=1001", "after=.", "before=x"] {
                #expect(try await registry.send("GET", "/v1/apps?\(query)").status == 400, "\(query)")
            }
        }

        @Test func key_failsOnTheNextRequest_whenItIsRevoked() async throws {
            let app = try await RegistryApp.make()
            // Connections spread over the loops; each has served the key before.
            var connections: [TestConnection] = []
            for _ in 0..<16 { connections.append(try TestConnection(port: app.registry.client.port)) }
            let requests = [
                app.registration("phone", by: .role(.client)),
                app.request("GET", "/installations/phone", by: .role(.client)),
            ]
            for connection in connections {
                for request in requests { #expect(try await connection.response(to: request).status < 300) }
            }
            let revoked = try await app.send("DELETE", "/keys/\(app.keyID(.client))", by: .role(.admin))
            #expect(revoked.status == 204)
            for connection in connections {
                for request in requests {
                    let response = try await connection.response(to: request)
                    #expect(response.status == 401)
                    #expect(response["WWW-Authenticate"] != nil)
                }
            }
        }
    }
}
