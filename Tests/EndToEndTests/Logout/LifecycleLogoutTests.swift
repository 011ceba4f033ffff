import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A logout works late and offline, and never affects the next user (R6)")
    struct LifecycleLogoutTests {
        private static let lateBy = -29 * 86_400

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

        @Test func logout_isAccepted_weeksAfterTheJWTExpired() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            _ = try await app.put("phone", by: UserJWT.make("alice", session: "s1"))
            let late = UserJWT.make("alice", session: "s1", age: 2_600_000, life: Self.lateBy)
            #expect(try await app.get("phone", by: late).status == 401)
            #expect(try await app.logOut("phone", by: late).json["status"] == "loggedOut")
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

        @Test func lateLogout_neverAffectsTheNextOwner_inAnyOrder() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let phones = 24
            for number in 0..<phones { _ = try await app.put("phone-\(number)", by: Self.alice(number)) }
            let statuses = try await race(phones * 2) { number in
                let phone = "phone-\(number / 2)"
                if number % 2 == 0 { return try await app.put(phone, by: UserJWT.make("bob", session: "b")).status }
                return try await app.logOut(phone, by: Self.alice(number / 2)).status
            }
            #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
            for number in 0..<phones {
                let record = try await app.get("phone-\(number)").json
                #expect(record["userId"] == "bob" && record["state"] == "active")
                #expect(try await app.put("phone-\(number)", by: Self.alice(number)).code == "session-ended")
            }
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

        private static func alice(_ number: Int) -> RegistryApp.Credential {
            UserJWT.make("alice", session: "a\(number)")
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
