import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A logout works late and offline, and never affects the next user (R6)")
    struct LifecycleLogoutTests {
        @Test func logout_leavesTheInstallationUnbound_andMayBeRepeated() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let alice = UserJWT.make("alice", session: "s1")
            let generation = try await app.put("phone", by: alice).generation
            let response = try await app.logOut("phone", by: alice)
            #expect(response.json["status"] == "loggedOut" && response.generation == generation.map { $0 + 1 })
            #expect(try await app.logOut("phone", by: alice).json["status"] == "alreadyLoggedOut")
            let record = try await app.get("phone").json
            #expect(record["userId"] == .null && record["state"] == "loggedOut" && record["reachable"] == false)
            #expect(try await app.put("phone", by: alice).code == "session-ended")
            #expect(try await app.put("phone", by: UserJWT.make("alice", session: "s2")).status == 200)
        }

        /// The session decides about the second JWT, so its age is not that of the binding.
        @Test func olderJWT_doesNotDateTheBinding_thatTheServiceBegan() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            var changed = SampleRegistration.make("changed")
            changed["device"]["locale"] = "fr_FR"
            let rotated = SampleRegistration.make("rotated", token: SampleRegistration.token("rotated again"))
            for (phone, body) in [
                ("same", SampleRegistration.make("same")), ("changed", changed), ("rotated", rotated),
            ] {
                let old = UserJWT.make("alice", age: 60)
                #expect(try await app.put(phone, by: old).status == 201)
                #expect(try await app.logOut(phone, by: old).json["status"] == "loggedOut")
                #expect(try await app.put(phone, as: "alice", session: "s1").status == 200)
                let jwt = UserJWT.make("alice", session: "s1", age: 60)
                let response = try await app.put(phone, body, by: jwt)
                #expect(response.status == 200, "\(phone): \(response.json)")
            }
            let late = try await app.database.column(
                """
                SELECT install_id FROM installation
                WHERE app_id = \(try await app.number()) AND credential_issued_at < now() - interval '30 seconds'
                """, as: String.self)
            #expect(late == [])
        }

        /// Without sessions the age of the credential decides: Alice's is older than her logout.
        @Test func delayedRegistration_isRefused_afterALateLogoutWithoutASession() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let (alice, bob) = (UserJWT.make("alice", age: 60), UserJWT.make("bob", age: 30))
            _ = try await app.put("phone", by: alice)
            _ = try await app.put("phone", by: bob)
            #expect(try await app.logOut("phone", by: alice).json["status"] == "outdated")
            let delayed = try await app.put("phone", by: alice)
            #expect(delayed.status == 409 && delayed.code == "session-ended")
            #expect(try await app.get("phone").json["userId"] == "bob")
            #expect(try await app.put("phone", by: bob).json["status"] == "unchanged")
            try await app.waitSinceLogouts(seconds: 31)
            #expect(try await app.put("phone", by: UserJWT.make("alice")).json["status"] == "updated")
        }

        @Test func lateLogout_isRecorded_withEqualGenerations() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            _ = try await app.put("phone", by: UserJWT.make("alice", session: "s1"))
            _ = try await app.put("phone", by: UserJWT.make("bob", session: "s2"))
            #expect(
                try await app.logOut("phone", by: UserJWT.make("alice", session: "s1")).json["status"] == "outdated")
            let event = try #require(try await app.events(of: "phone").last)
            #expect(event.event == "logoutIgnored" && event.generationBefore == event.generationAfter)
            #expect(event.actor == "client:tests")
        }
    }
}

extension RegistryApp {
    func logOut(_ installID: String, by credential: Credential, ifMatch: String? = nil) async throws -> HTTPResponse {
        try await send(
            "POST", "/installations/\(installID)/logout", [:], by: credential,
            fields: ifMatch.map { [("If-Match", $0)] } ?? [])
    }
}
