import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A session that ended stays ended (R7)")
    struct LifecycleSessionTests {
        @Test func session_isEnded_knownOrNot() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            _ = try await app.put("phone", by: UserJWT.make("alice", session: "seen"))
            #expect(try await app.endSession("seen").json["loggedOut"] == 1)
            #expect(try await app.endSession("never-seen").json["loggedOut"] == 0)
            for session in ["seen", "never-seen"] {
                let response = try await app.put("phone", by: UserJWT.make("alice", session: session))
                #expect(response.status == 409 && response.code == "session-ended")
            }
        }

        @Test func refusedInstallation_holdsNoToken() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            #expect(try await app.endSession("ended").json["loggedOut"] == 0)
            for (session, status) in [("ended", 409), ("other", 201)] {
                let credential = UserJWT.make("alice", session: session)
                let statuses = try await race(4) { number in
                    let name = "phone-\(session)-\(number)"
                    let body = SampleRegistration.make(name, token: SampleRegistration.token("refused-\(number)"))
                    return try await app.put(name, body, by: credential).status
                }
                #expect(statuses.allSatisfy { $0 == status }, "\(statuses)")
                let dangling = try await app.database.count(
                    """
                    SELECT count(*) FROM token_holder h JOIN app ON app.id = h.app_id
                    LEFT JOIN installation i ON i.app_id = h.app_id AND i.install_id = h.install_id
                    WHERE identifier = \(app.id) AND h.install_id IS NOT NULL AND i.install_id IS NULL
                    """)
                #expect(dangling == 0)
            }
        }

        /// The logout of a session, of a user and of an installation.
        @Test func logout_isForgotten_afterSessionTombstones() async throws {
            var policy = UserJWT.policy
            policy["sessionTombstones"] = "P2D"
            let app = try await RegistryApp.make(policy: policy)
            let session = UserJWT.make("alice", session: "s1")
            let (user, phone) = (UserJWT.make("bob", age: 260_000), UserJWT.make("carol", session: "s3"))
            _ = try await app.endSession("s1")
            _ = try await app.send("POST", "/users/bob/logout", [:])
            _ = try await app.put("phone-2", by: phone)
            _ = try await app.logOut("phone-2", by: phone)
            for (hours, status) in [(0, 409), (47, 409), (2, 200)] {
                try await app.waitSinceLogouts(seconds: hours * 3_600)
                for (number, credential) in [session, user, phone].enumerated() {
                    let response = try await app.put("phone-\(number)", by: credential).status
                    #expect(
                        response == status || response == 201 && status == 200, "\(number) after \(hours): \(response)")
                }
            }
            #expect(try await app.endSession("s1").json["loggedOut"] == 1)
            #expect(try await app.put("phone-0", by: session).code == "session-ended")
        }

        /// The same session id under two users is unusual, not impossible.
        @Test func userLogout_endsASession_thatWasFirstSeenWithAnotherUser() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice", session: "shared")
            _ = try await app.put("phone", as: "bob", session: "shared")
            _ = try await app.send("POST", "/users/bob/logout", [:])
            #expect(try await app.put("phone", as: "bob", session: "shared").code == "session-ended")
        }

        /// The session would end as well.
        @Test func userLogout_refusesAMisspeltMember() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice", session: "kept")
            let response = try await app.send("POST", "/users/alice/logout", ["exceptSessionID": "kept"])
            #expect(response.status == 400 && response.json["errors"][0]["pointer"] == "/exceptSessionID")
            #expect(try await app.installations(of: "alice") == ["phone"])
        }

        @Test func userLogout_keepsOneSession_andRefusesOlderCredentials() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            for session in ["kept", "other"] {
                _ = try await app.put(session, by: UserJWT.make("alice", session: session))
            }
            let response = try await app.send("POST", "/users/alice/logout", ["exceptSessionId": "kept"])
            #expect(response.json["loggedOut"] == 1)
            #expect(try await app.installations(of: "alice") == ["kept"])
            #expect(try await app.put("new", by: UserJWT.make("alice", session: "kept", age: 60)).status == 201)
            #expect(try await app.put("newer", by: UserJWT.make("alice", age: 60)).code == "session-ended")
            #expect(try await app.put("newer", by: UserJWT.make("alice", session: "unseen", age: 60)).status == 409)
        }
    }

    @Suite("No JWT outlives a logout or an erasure, although clocks differ (fine print 16)")
    struct ClockAheadTests {
        /// A JWT of an issuer whose clock is 25 seconds ahead.
        @Test(arguments: ["everywhere", "erasure", "installation"])
        func jwtFromTheFuture_isRefused_afterALogout(kind: String) async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let ahead = UserJWT.make("alice", age: -25)
            #expect(try await app.put("phone", by: ahead).status == 201)
            #expect(try await app.get("phone", by: ahead).status == 200)
            switch kind {
            case "everywhere": _ = try await app.send("POST", "/users/alice/logout", [:])
            case "erasure": _ = try await app.send("DELETE", "/users/alice")
            default: _ = try await app.logOut("phone", by: ahead)
            }
            let refused = try await app.put("phone", by: ahead)
            #expect(refused.status == 409 && refused.code == "session-ended", "\(refused.text)")
            #expect(try await app.get("phone", by: ahead).code == "credential-ended")
            #expect(try await app.put("phone", by: UserJWT.make("alice")).status == 409)
            try await app.waitSinceLogouts(seconds: 70)
            #expect(try await app.put("phone", by: UserJWT.make("alice")).status < 300)
            #expect(try await app.put("phone", by: UserJWT.make("alice", age: -60)).code == "invalid-credential")
        }

        /// 15 compares `iat` as sent: the later sign-in stays.
        @Test func logout_comparesIssueTimes_asTheyWereSent() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            #expect(try await app.put("phone", by: UserJWT.make("alice", age: -20)).status == 201)
            #expect(try await app.logOut("phone", by: UserJWT.make("alice", age: -10)).json["status"] == "outdated")
            #expect(try await app.put("phone", by: UserJWT.make("alice", age: -20)).json["status"] == "unchanged")
            #expect(try await app.logOut("phone", by: UserJWT.make("alice", age: -20)).json["status"] == "loggedOut")
        }
    }

    @Suite("An erasure removes all data of the user")
    struct LifecycleErasureTests {
        @Test func erasure_removesTheUserFromHistory_andKeepsTheTokens() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            _ = try await app.put("phone", by: UserJWT.make("alice", session: "s1"))
            let tokens = try await app.events(of: "phone").map(\.tokenSHA256)
            let receipt = try await app.send("DELETE", "/users/alice").json
            #expect(receipt["installations"] == 1 && receipt["snapshots"] == 1 && receipt["events"] == 1)
            let events = try await app.events(of: "phone")
            #expect(events.map(\.event) == ["registered", "erased"])
            #expect(events.allSatisfy { $0.userID == nil && $0.previousUserID == nil })
            #expect(events.map(\.tokenSHA256).prefix(1) == tokens.prefix(1))
            let again = try await app.send("DELETE", "/users/alice").json
            #expect(again["installations"] == 0 && again["events"] == 0)
        }

        @Test func erasure_removesInstallationsThatTheUserLeft_butNotThoseOfLaterUsers() async throws {
            let app = try await RegistryApp.make()
            for phone in ["left", "passed-on"] {
                _ = try await app.put(phone, as: "alice")
                _ = try await app.logOut(phone, by: .role(.service))
            }
            _ = try await app.put("passed-on", as: "bob")
            _ = try await app.logOut("passed-on", by: .role(.service))
            #expect(try await app.send("DELETE", "/users/alice").json["installations"] == 1)
            #expect(try await app.get("left").status == 404)
            #expect(try await app.get("passed-on").json["state"] == "loggedOut")
            #expect(try await app.send("DELETE", "/users/bob").json["installations"] == 1)
        }

        /// Alice's locations and settings are hers, even if another user has the phone now.
        @Test func erasure_removesTheUsersSnapshots_fromPhonesOfOtherUsers() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", Self.body("phone", "de_DE"), as: "alice")
            _ = try await app.put("phone", Self.body("phone", "sv_SE"), as: "alice")
            _ = try await app.logOut("phone", by: .role(.service))
            _ = try await app.put("phone", Self.body("phone", "nb_NO"), as: "bob")
            for user in ["alice", "bob"] { _ = try await app.put("same", Self.body("same", "de_DE"), as: user) }
            #expect(
                try await app.send("DELETE", "/users/alice").json["snapshots"] == 2,
                "the newest is the next owner's too")
            #expect(try await app.snapshotLocales(of: "phone") == ["nb_NO"])
            #expect(try await app.snapshotLocales(of: "same") == ["de_DE"])
        }

        private static func body(_ installID: String, _ locale: String) -> JSON {
            var device = SampleRegistration.device(installID)
            device["locale"] = .string(locale)
            return SampleRegistration.make(installID, device: device)
        }
    }
}

extension RegistryApp {
    fileprivate func endSession(_ id: String) async throws -> HTTPResponse {
        try await send("DELETE", "/sessions/\(id)")
    }

    /// Makes all tombstones older.
    func waitSinceLogouts(seconds: Int) async throws {
        for (table, column) in [
            ("session", "ended_at"), ("user_guard", "refused_before"), ("installation_logout", "logged_out_at"),
        ] {
            _ = try await database.rows(
                """
                UPDATE \(identifier: table)
                SET \(identifier: column) = \(sql: .earlier(column, by: "\(seconds) seconds"))
                WHERE app_id = (SELECT id FROM app WHERE identifier = \(id))
                """)
        }
    }

    /// Newest first.
    fileprivate func snapshotLocales(of installID: String) async throws -> [String] {
        let response = try await send("GET", "/installations/\(installID)/snapshots")
        return response.json["snapshots"].array.compactMap { $0["device"]["locale"].string }
    }

    /// The ids of a user's installations.
    func installations(of user: String) async throws -> [String] {
        let response = try await send("GET", "/users/\(user)/installations")
        return response.json["installations"].array.compactMap { $0["installId"].string }
    }
}
