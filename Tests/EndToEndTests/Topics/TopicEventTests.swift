import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Each change of choices is in the feed and in the history (fine print 50, 91)")
    struct TopicEventTests {
        @Test func event_namesTheTopics_withoutANewGeneration() async throws {
            let app = try await RegistryApp.make()
            for topic in ["news", "offers"] { try await app.putTopic(topic, isIn: true) }
            let generation = try await app.put("phone", as: "alice").json["generation"]
            _ = try await app.choose(["offers": false, "news": false], on: "phone")
            _ = try await app.choose(["offers": false], on: "phone")
            _ = try await app.choose(["news": true], user: "alice")
            _ = try await app.choose(["news": true], user: "alice")
            let feed = try await app.send("GET", "/changes").text.split(separator: "\n").map {
                try JSON(parsing: $0.utf8)
            }
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
            let token = RegistrationBody.token("phone")
            let ofToken = try await app.send("POST", "/tokens/history", ["token": .string(token)]).json["events"].array
            #expect(ofToken.map { $0["event"] } == ["topicsChanged", "registered"])
            let rest = try await app.send("GET", "/changes?after=\(own["cursor"].string ?? "")")
            #expect(try JSON(parsing: rest.text.utf8)["cursor"] == user["cursor"])
        }
    }
}
