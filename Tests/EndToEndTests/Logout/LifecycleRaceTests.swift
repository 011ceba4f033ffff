import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Logouts hold and never affect the next owner, in any race (R6, R7, R9)")
    struct LifecycleRaceTests {
        private static let rounds = 4
        private static let phones = 16

        /// The app registered, then logged out. The network delivers both at once, the registration several times.
        @Test func delayedRegistration_neverUndoesALogout_whenBothRace() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            for round in 1...Self.rounds {
                let alice = UserJWT.make("alice", session: "session-\(round)")
                for phone in 0..<Self.phones { _ = try await app.put("phone-\(phone)", by: alice) }
                let statuses = try await race(Self.phones * 3) { number in
                    let phone = "phone-\(number / 3)"
                    if number % 3 == 1 { return try await app.logOut(phone, by: alice).status }
                    let body = SampleRegistration.make(
                        phone, token: SampleRegistration.token("\(phone) in \(round) \(number)"))
                    return try await app.put(phone, body, by: alice).status
                }
                #expect(Set(statuses).isSubset(of: [200, 409]), "\(statuses)")
                #expect(try await app.installations(of: "alice").isEmpty)
            }
            try await app.expectCompleteHistory()
        }

        /// The end of the user, of the session, or of the user's data.
        @Test(arguments: [("POST", "/users", "/logout"), ("DELETE", "/sessions", ""), ("DELETE", "/users", "")])
        func registration_neverSurvivesALogoutOfItsUser_whenBothRace(
            method: String, path: String, action: String
        ) async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            for round in 1...Self.rounds {
                // Issued before the logout: one of the same second could belong to a new sign-in.
                let user = "user-\(round)"
                let ofTheSession = UserJWT.make(user, session: user, age: 5)
                let other = path == "/sessions" ? ofTheSession : UserJWT.make(user, age: 5)
                let statuses = try await race(Self.phones * 2) { number in
                    if number == Self.phones {
                        return try await app.send(method, "\(path)/\(user)\(action)", action.isEmpty ? nil : [:]).status
                    }
                    return try await app.put("phone-\(number)", by: number % 2 == 0 ? other : ofTheSession).status
                }
                #expect(Set(statuses).isSubset(of: [200, 201, 409]), "\(statuses)")
                #expect(try await app.installations(of: user).isEmpty)
            }
            try await app.expectCompleteHistory()
        }

        /// The back end ends Alice's sessions while Bob signs in on her phones.
        @Test func endOfASession_neverAffectsTheNextOwner_whenBothRace() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            for round in 1...Self.rounds {
                let (alice, bob) = ("alice-\(round)", "bob-\(round)")
                for phone in 0..<Self.phones {
                    _ = try await app.put("phone-\(phone)", by: UserJWT.make("alice", session: "\(alice)-\(phone)"))
                }
                let statuses = try await race(Self.phones * 2) { number in
                    let phone = number / 2
                    if number % 2 == 0 { return try await app.send("DELETE", "/sessions/\(alice)-\(phone)").status }
                    return try await app.put("phone-\(phone)", by: UserJWT.make("bob", session: bob)).status
                }
                #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
                #expect(try await app.installations(of: "bob").count == Self.phones)
            }
            try await app.expectCompleteHistory()
        }

        /// Alice's logout arrives while her token moves to Bob's new installation, which must not change.
        @Test func lateLogout_neverAffectsTheTokensNextHolder_whenBothRace() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let (alice, bob) = (UserJWT.make("alice", session: "a"), UserJWT.make("bob", session: "b"))
            for phone in 0..<Self.phones { _ = try await app.put("old-\(phone)", by: alice) }
            let statuses = try await race(Self.phones * 2) { number in
                let (old, new) = ("old-\(number / 2)", "new-\(number / 2)")
                if number % 2 == 0 { return try await app.logOut(old, by: alice).status }
                return try await app.put(
                    new, SampleRegistration.make(new, token: SampleRegistration.token(old)), by: bob
                )
                .status
            }
            #expect(Set(statuses) == [200, 201], "\(statuses)")
            for phone in 0..<Self.phones {
                let (old, new) = (try await app.get("old-\(phone)").json, try await app.get("new-\(phone)").json)
                #expect(new["state"] == "active" && new["userId"] == "bob")
                #expect(old["state"] == "superseded" && old["userId"] == .null && old["token"] == .null)
            }
            try await app.expectCompleteHistory()
        }
    }
}
