import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Each change of choices is in the feed and in the history (fine print 50, 91)")
    struct TopicEventTests {
        private func topicEvents(_ app: RegistryApp, of installID: String) async throws -> [String] {
            try await app.send("GET", "/installations/\(installID)/history").json["events"].array.reversed().map {
                let topics = $0["topics"].array.compactMap(\.string).joined(separator: ",")
                let event = "\($0["event"].string ?? "?") \($0["reason"].string ?? "?")"
                return topics.isEmpty ? event : "\(event) \(topics)"
            }
        }

        @Test func reset_isAnEvent_whereverTheOwnersBindingEnds() async throws {
            let app = try await RegistryApp.make()
            for topic in ["news", "offers"] { try await app.putTopic(topic, isIn: true) }
            let token = SampleRegistration.token("shared")
            func signIn(_ id: String, user: String, session: String? = nil, _ topics: JSON) async throws {
                var body = SampleRegistration.make(id, token: token)
                body["topics"] = topics
                _ = try await app.put(id, body, as: user, session: session)
            }
            try await signIn("phone", user: "alice", ["news": false])
            try await signIn("phone", user: "bob", [:])
            try await signIn("phone", user: "alice", ["news": false])
            try await signIn("phone", user: "bob", ["offers": false])
            try await signIn("tablet", user: "carol", [:])
            #expect(
                try await topicEvents(app, of: "phone") == [
                    "registered firstRegistration", "topicsChanged topicsRegistered news",
                    "takenOver ownerChanged", "topicsChanged topicsReset news",
                    "takenOver ownerChanged", "topicsChanged topicsRegistered news",
                    "takenOver ownerChanged", "topicsChanged topicsRegistered news,offers",
                    "superseded tokenMoved", "topicsChanged topicsReset offers",
                ])
            #expect(try await topicEvents(app, of: "tablet") == ["takenOver tokenMoved"])

            _ = try await app.choose(["news": false], on: "tablet")
            _ = try await app.send("POST", "/installations/tablet/logout", [:])
            try await signIn("tablet", user: "carol", session: "s", ["news": false])
            _ = try await app.send("DELETE", "/sessions/s")
            try await signIn("tablet", user: "dora", ["news": false])
            _ = try await app.send("POST", "/users/dora/logout", [:])
            #expect(
                try await topicEvents(app, of: "tablet").dropFirst(2) == [
                    "loggedOut loggedOut", "topicsChanged topicsReset news",
                    "reactivated comeback", "topicsChanged topicsRegistered news",
                    "sessionEnded sessionEnded", "topicsChanged topicsReset news",
                    "reactivated comeback", "topicsChanged topicsRegistered news",
                    "loggedOut userLoggedOut", "topicsChanged topicsReset news",
                ])
            try await app.expectCompleteHistory()
            try await app.expectIntact()
        }

        @Test func event_namesTheTopics_withoutANewGeneration() async throws {
            let app = try await RegistryApp.make()
            for topic in ["news", "offers"] { try await app.putTopic(topic, isIn: true) }
            let generation = try await app.put("phone", as: "alice").json["generation"]
            _ = try await app.choose(["offers": false, "news": false], on: "phone")
            _ = try await app.choose(["offers": false], on: "phone")
            _ = try await app.choose(["news": true], user: "alice")
            _ = try await app.choose(["news": true], user: "alice")
            let feed = try await app.changes { $0.count == 3 }
            #expect(feed.map { $0["event"] } == ["registered", "topicsChanged", "topicsChanged"])
            #expect(feed[0].object["topics"] == nil)
            let (own, user) = (feed[1], feed[2])
            #expect(own["topics"] == ["news", "offers"] && own["installId"] == "phone" && own["userId"] == "alice")
            #expect(own["generationBefore"] == generation && own["generationAfter"] == generation)
            #expect(own["state"] == "active" && own["provider"] == "apns" && own["reason"] == "topicsPatched")
            #expect(user["topics"] == ["news"] && user["userId"] == "alice")
            for member in ["installId", "provider", "state", "generationBefore", "generationAfter", "tokenSha256"] {
                #expect(user.object[member] == .null, "\(member)")
            }
            let history = try await app.send("GET", "/installations/phone/history").json["events"].array
            #expect(
                history.map { $0["event"] } == ["topicsChanged", "registered"] && history[0]["topics"] == own["topics"])
            let token = SampleRegistration.token("phone")
            let ofToken = try await app.send("POST", "/tokens/history", ["token": .string(token)]).json["events"].array
            #expect(ofToken.map { $0["event"] } == ["topicsChanged", "registered"])
            let rest = try await app.send("GET", "/changes?after=\(own["cursor"].string ?? "")")
            #expect(try JSON(parsing: rest.text.utf8)["cursor"] == user["cursor"])
        }
    }
}
