import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    /// With its own registry, because a run concerns all apps.
    @Suite(
        "The night job retires the installations that the app's policy defines, and no others", .separateRegistry,
        .serialized
    )
    struct CleanUpRulesTests {
        /// The installations are on either side of each limit.
        @Test func installations_areRetired_onceTheirTimeIsOver_andNotBefore() async throws {
            let app = try await NightApp.make(policy: ["staleAfter": ["fcm": "P10D"]])
            func add(
                _ installID: String, provider: String = "apns", keychain: String? = nil, session: String? = nil,
                age: String? = nil
            ) async throws {
                try await app.register(installID, provider: provider, keychain: keychain, session: session)
                if let age { try await app.age(installID, by: age) }
            }
            for days in [59, 61] { try await add("unseen-\(days)", age: "\(days) days") }
            for days in [9, 11] { try await add("fcm-\(days)", provider: "fcm", age: "\(days) days") }
            for days in [6, 8] {
                try await add("replaced-\(days)", keychain: "\(days)")
                try await add("new-\(days)", keychain: "\(days)")
                try await app.age("replaced-\(days)", by: "\(days) days")
                try await add("suspect-\(days)")
                try await app.suspect("suspect-\(days)")
                try await app.age("suspect-\(days)", by: "\(days) days")
            }
            // Its verdict is new.
            try await add("silent", age: "30 days")
            try await app.suspect("silent")
            for (name, expiry) in [("expired", "-1 second"), ("bound", "1 hour")] {
                try await add(name, session: name)
                try await app.registry.update(name, "session_expires_at = now() + \(literal: expiry)::interval")
            }
            for days in [29, 31] {
                try await add("out-\(days)")
                _ = try await app.registry.send("POST", "/installations/out-\(days)/logout", [:])
                try await app.age("out-\(days)", by: "\(days) days")
            }
            try await app.cleanUp()

            for (installID, state) in [
                ("unseen-59", "active"), ("unseen-61", "stale"), ("fcm-9", "active"), ("fcm-11", "stale"),
                ("replaced-6", "active"), ("replaced-8", "superseded"), ("new-6", "active"), ("new-8", "active"),
                ("suspect-6", "suspect"), ("suspect-8", "unregistered"), ("silent", "suspect"),
                ("bound", "active"), ("expired", "loggedOut"), ("out-29", "loggedOut"), ("out-31", nil),
            ] {
                #expect(try await app.state(installID) == state, "\(installID)")
            }
            #expect(try await app.registry.holders(of: SampleRegistration.token("replaced-6")) == ["replaced-6"])
            #expect(try await app.registry.holders(of: SampleRegistration.token("replaced-8")) == [])
            #expect(try await app.registry.events(of: "replaced-8").last?.reason == "reinstalled")
            let stale = try #require(try await app.registry.events(of: "unseen-61").last)
            #expect(stale.event == "stale" && stale.reason == "unseen" && stale.actor == "job:cleanup")
            #expect(stale.userID == "alice" && stale.generationAfter == stale.generationBefore + 1)
            let ended = try #require(try await app.registry.events(of: "expired").last)
            #expect(ended.event == "sessionEnded" && ended.reason == "sessionExpired")
            #expect(ended.userID == nil && ended.previousUserID == "alice")
            #expect(try await app.registry.events(of: "bound").map(\.event) == ["registered"])
            #expect(try await app.registry.events(of: "out-29").map(\.event) == ["registered", "loggedOut"])
            let purged = try await app.registry.events(of: "out-31")
            #expect(purged.map(\.event) == ["registered", "loggedOut", "deleted"] && purged[2].reason == "purged")

            try await app.register("unseen-61")
            #expect(try await app.state("unseen-61") == "active")
            // Above the generations of its former life.
            let again = try await app.registry.put("out-31", as: "alice")
            #expect(again.status == 201)
            #expect(try #require(again.json["generation"].integer) > purged[2].generationAfter)
        }

        @Test func tombstones_areDeleted_afterSessionTombstones() async throws {
            let app = try await NightApp.make()
            try await app.register("phone", session: "old")
            try await app.register("tablet", session: "kept")
            _ = try await app.registry.send("DELETE", "/sessions/old")
            try await app.passTombstones()
            try await app.register("tablet", session: "next")
            try await app.cleanUp()
            let left = try await app.registry.database.column(
                "SELECT session_id FROM session JOIN app ON app.id = app_id WHERE identifier = \(app.registry.id)",
                as: String.self)
            #expect(left == ["kept"])
        }

        /// A user who never logged out has no row.
        @Test func users_areForgotten_onceTheirLogoutsAreOld() async throws {
            let app = try await NightApp.make()
            try await app.register("phone", as: "alice")
            try await app.register("tablet", as: "bob", session: "kept")
            try await app.register("watch", as: "carol")
            _ = try await app.registry.send("POST", "/users/carol/logout", [:])
            try await app.passTombstones()
            try await app.register("new", as: "dora")
            _ = try await app.registry.send("POST", "/users/dora/logout", [:])
            try await app.cleanUp()
            let left = try await app.registry.database.column(
                """
                SELECT name FROM user_guard g JOIN app ON app.id = app_id
                JOIN unnest(ARRAY['alice', 'bob', 'carol', 'dora']) AS name ON user_sha256 = sha256(name::bytea)
                WHERE identifier = \(app.registry.id) ORDER BY 1
                """, as: String.self)
            #expect(left == ["dora"])
            // A user without a tombstone may register like a new one.
            #expect(try await app.registry.send("POST", "/users/alice/logout", [:]).json["loggedOut"] == 1)
        }
    }
}
