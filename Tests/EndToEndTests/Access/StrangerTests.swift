import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A caller that may not read an installation learns nothing about it")
    struct StrangerTests {
        /// The publishable key and the JWT of another user.
        private static let strangers: [RegistryApp.Credential] = [
            .role(.client), UserJWT.make("mallory", session: "m"),
        ]

        @Test(arguments: ["\"1\"", "\"1\", \"2\""])
        func put_isTheSame412_whetherTheInstallationIsOwnedOrUnknown(ifMatch: String) async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let etag = try await app.put("phone", as: "alice")["ETag"] ?? ""
            for stranger in Self.strangers {
                for phone in ["phone", "unknown"] {
                    let response = try await app.put(phone, ifMatch: ifMatch, by: stranger)
                    #expect(response.status == 412 && response.code == "outdated", "\(phone)")
                    #expect(
                        response.json["generation"] == .null && response["ETag"] == nil, "\(phone): \(response.text)")
                    #expect(!response.text.contains(etag.filter { $0 != "\"" }))
                }
            }
        }

        @Test func delete_isTheSame404_whetherTheInstallationIsOwnedOrUnknown_withIfMatch() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            _ = try await app.put("phone", as: "alice")
            for stranger in Self.strangers {
                for phone in ["phone", "unknown"] {
                    let response = try await app.delete(phone, ifMatch: "\"1\"", by: stranger)
                    #expect(response.status == 404 && response["ETag"] == nil, "\(phone): \(response.text)")
                }
            }
            #expect(try await app.get("phone").json["userId"] == "alice")
        }

        @Test func logoutByAJWT_isOutdatedWithoutAGeneration_whetherOwnedOrUnknown() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            _ = try await app.put("phone", as: "alice")
            for ifMatch in [nil, "\"1\"", "*"] {
                for phone in ["phone", "unknown"] {
                    let response = try await app.logOut(phone, by: UserJWT.make("mallory"), ifMatch: ifMatch)
                    #expect(
                        response.status == 200 && response.json == ["status": "outdated"], "\(phone): \(response.text)")
                    #expect(response["ETag"] == nil)
                }
            }
            #expect(try await app.get("phone").json["userId"] == "alice")
        }

        @Test func owner_service_andThePublishableKeyOnAnAnonymousOne_getTheGeneration() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let alice = UserJWT.make("alice", session: "s1")
            let owned = try await app.put("owned", by: alice).generation
            for credential in [alice, .role(.service), .role(.admin)] {
                let response = try await app.delete("owned", ifMatch: "\"1\"", by: credential)
                #expect(response.status == 412 && response.generation == owned)
            }
            let named = try await app.send("POST", "/installations/owned/logout", [:], fields: [("X-User-Id", "bob")])
            #expect(named.json["status"] == "outdated" && named.generation == owned)
            let outdated = try await app.logOut("owned", by: UserJWT.make("alice", session: "s0"))
            #expect(outdated.json["status"] == "outdated" && outdated.generation == owned)
            let anonymous = try await app.put("anonymous", by: .role(.client)).generation
            let refused = try await app.put("anonymous", ifMatch: "\"1\"", by: .role(.client))
            #expect(refused.status == 412 && refused.generation == anonymous)
            #expect(try await app.put("unknown", ifMatch: "*").generation == 0)
        }
    }

    @Suite("A JWT from before a logout is refused on every call (R7)")
    struct EndedCredentialTests {
        private func expectEnded(_ app: RegistryApp, _ old: RegistryApp.Credential, _ phone: String) async throws {
            for response in [try await app.get(phone, by: old), try await app.delete(phone, by: old)] {
                #expect(response.status == 401 && response.code == "credential-ended", "\(response.text)")
                #expect(response["WWW-Authenticate"]?.contains("invalid_token") == true)
            }
            #expect(try await app.put(phone, by: old).code == "session-ended")
            #expect(try await app.get(phone).status == 200)
        }

        @Test(
            arguments: [("POST", "/logout", nil), ("POST", "/logout", "old"), ("DELETE", "", nil)]
                as [(String, String, String?)])
        func logoutAndErasureOfAUser_endEarlierJWTs(method: String, rest: String, session: String?) async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let (old, new) = (UserJWT.make("alice", session: session, age: 60), UserJWT.make("alice"))
            _ = try await app.put("phone", by: old)
            _ = try await app.send(method, "/users/alice" + rest, rest.isEmpty ? nil : [:])
            try await app.waitSinceLogouts(seconds: 31)
            #expect(try await app.put("phone", by: new).status == (rest.isEmpty ? 201 : 200))
            try await expectEnded(app, old, "phone")
            #expect(try await app.get("phone", by: new).status == 200)
        }

        @Test func endOfASession_endsItsJWTs_andNoOthers() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let (old, new) = (UserJWT.make("alice", session: "s1"), UserJWT.make("alice", session: "s2"))
            _ = try await app.put("phone", by: old)
            _ = try await app.send("DELETE", "/sessions/s1")
            _ = try await app.put("phone", by: new)
            try await expectEnded(app, old, "phone")
            #expect(try await app.delete("phone", by: new).status == 204)
        }

        /// Another phone of the same user and session is not affected.
        @Test func logoutOfOneInstallation_endsItsSessionOnlyThere() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let (old, new) = (UserJWT.make("alice", session: "s1"), UserJWT.make("alice", session: "s2"))
            for phone in ["phone", "tablet"] { _ = try await app.put(phone, by: old) }
            _ = try await app.logOut("phone", by: old)
            _ = try await app.put("phone", by: new)
            try await expectEnded(app, old, "phone")
            #expect(try await app.get("tablet", by: old).status == 200)
        }

        /// A late logout may come with a JWT of an ended session (fine print 15).
        @Test func logout_isStillAccepted() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let old = UserJWT.make("alice", session: "s1")
            _ = try await app.put("phone", by: old)
            _ = try await app.send("DELETE", "/sessions/s1")
            #expect(try await app.logOut("phone", by: old).json["status"] == "alreadyLoggedOut")
        }
    }
}
