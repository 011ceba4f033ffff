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
        @Test(arguments: [("61 days", "stale"), ("59 days", "active")])
        func installation_isStale_whenUnseenForLongerThanItsProviderAllows(age: String, state: String) async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            try await app.age("phone", by: age)
            try await app.cleanUp()
            #expect(try await app.state("phone") == state)
        }

        @Test func staleness_dependsOnTheProvider() async throws {
            let app = try await NightApp.make(policy: ["staleAfter": ["fcm": "P10D"]])
            try await app.register("phone", provider: "fcm")
            try await app.register("tablet")
            for installID in ["phone", "tablet"] { try await app.age(installID, by: "11 days") }
            try await app.cleanUp()
            #expect(try await app.state("phone") == "stale")
            #expect(try await app.state("tablet") == "active")
        }

        @Test func stale_isRecorded_untilTheNextRegistration() async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            try await app.age("phone", by: "61 days")
            try await app.cleanUp()
            let event = try #require(try await app.registry.events(of: "phone").last)
            #expect(event.event == "stale" && event.reason == "unseen" && event.actor == "job:cleanup")
            #expect(event.userID == "alice" && event.generationAfter == event.generationBefore + 1)
            try await app.register("phone")
            #expect(try await app.state("phone") == "active")
        }

        @Test(arguments: [("8 days", "superseded"), ("6 days", "active")])
        func replaced_losesItsToken_whenSilentForTheGrace(age: String, state: String) async throws {
            let app = try await NightApp.make()
            try await app.register("old", keychain: "k")
            try await app.register("new", keychain: "k")
            try await app.age("old", by: age)
            try await app.cleanUp()
            #expect(try await app.state("old") == state)
            #expect(
                try await app.registry.holders(of: SampleRegistration.token("old")).isEmpty == (state == "superseded"))
            #expect(try await app.state("new") == "active")
            if state == "superseded" {
                #expect(try await app.registry.events(of: "old").last?.reason == "reinstalled")
            }
        }

        @Test(arguments: [("8 days", "unregistered"), ("6 days", "suspect")])
        func suspect_isUnregistered_whenSilentForTheGrace(age: String, state: String) async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            try await app.suspect("phone")
            try await app.age("phone", by: age)
            try await app.cleanUp()
            #expect(try await app.state("phone") == state)
        }

        @Test func suspect_isKept_forTheGraceAfterTheVerdict() async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            try await app.age("phone", by: "30 days")
            try await app.suspect("phone")
            try await app.cleanUp()
            #expect(try await app.state("phone") == "suspect")
        }

        @Test(arguments: [("-1 second", "loggedOut"), ("1 hour", "active")])
        func session_isEnded_whenItHasExpired(expiry: String, state: String) async throws {
            let app = try await NightApp.make()
            try await app.register("phone", session: "s-\(expiry.count)")
            try await app.registry.update("phone", "session_expires_at = now() + \(literal: expiry)::interval")
            try await app.cleanUp()
            #expect(try await app.state("phone") == state)
            let event = try #require(try await app.registry.events(of: "phone").last)
            guard state == "loggedOut" else { return #expect(event.event == "registered") }
            #expect(event.event == "sessionEnded" && event.reason == "sessionExpired")
            #expect(event.userID == nil && event.previousUserID == "alice")
        }

        @Test(arguments: [("31 days", 404), ("29 days", 200)])
        func retired_isPurged_whenKeptForTheRetention(age: String, status: Int) async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            _ = try await app.registry.send("POST", "/installations/phone/logout", [:])
            try await app.age("phone", by: age)
            try await app.cleanUp()
            #expect(try await app.registry.get("phone").status == status)
            let history = try await app.registry.events(of: "phone")
            #expect(history.map(\.event) == ["registered", "loggedOut"] + (status == 404 ? ["deleted"] : []))
            #expect(history.last?.reason == (status == 404 ? "purged" : "loggedOut"))
        }

        @Test func purged_beginsAboveItsFormerGenerations_whenItRegistersAgain() async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            _ = try await app.registry.send("POST", "/installations/phone/logout", [:])
            try await app.age("phone", by: "31 days")
            try await app.cleanUp()
            let last = try #require(try await app.registry.events(of: "phone").last)
            let again = try await app.registry.put("phone", as: "alice")
            #expect(again.status == 201)
            #expect(try #require(again.json["generation"].integer) > last.generationAfter)
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
