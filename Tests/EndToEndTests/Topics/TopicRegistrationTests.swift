import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A registration may bring choices about topics (fine print 49, 83, 88, 90)")
    struct TopicRegistrationTests {
        private func app() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            try await app.putTopic("news", isIn: true)
            try await app.putTopic("offers", isIn: false)
            try await app.putTopic("security", isIn: true, isLocked: true)
            return app
        }

        private func body(_ topics: JSON, _ installID: String = "phone", token: String? = nil) -> JSON {
            var body = SampleRegistration.make(installID, token: token)
            body["topics"] = topics
            return body
        }

        @Test func choiceMadeOffline_arrivesWithTheNextLaunch() async throws {
            let app = try await app()
            let first = try await app.put("phone", body(["news": false, "offers": true]), as: "alice")
            #expect(first.status == 201)
            #expect(try await app.choices(of: "phone") == "news-installation offers+installation security+default")
            #expect(try await app.put("phone", as: "alice").json["status"] == "unchanged")
            let same = try await app.put("phone", body(["news": false]), as: "alice")
            #expect(same.json["status"] == "unchanged")
            let undone = try await app.put("phone", body(["news": nil]), as: "alice")
            #expect(undone.json["status"] == "updated" && undone.json["generation"] == first.json["generation"])
            #expect(try await app.choices(of: "phone") == "news+default offers+installation security+default")
            // The choice was changed elsewhere since: a client that sends it again wins.
            _ = try await app.choose(["offers": false], on: "phone")
            #expect(try await app.put("phone", as: "alice").json["status"] == "unchanged")
            let again = try await app.put("phone", body(["offers": true]), as: "alice")
            #expect(again.json["status"] == "updated")
            #expect(try await app.choices(of: "phone") == "news+default offers+installation security+default")
            #expect(
                try await app.events(of: "phone").map { "\($0.event) \($0.reason)" } == [
                    "registered firstRegistration", "topicsChanged topicsRegistered", "topicsChanged topicsRegistered",
                    "topicsChanged topicsPatched", "topicsChanged topicsRegistered",
                ])
            try await app.expectCompleteHistory()
            try await app.expectIntact()
        }

        @Test func registration_isNeverRefused_forUnknownOrLockedTopics() async throws {
            let app = try await app()
            let odd = try await app.put("phone", body(["nope": true, "security": false, "News": false]), as: "alice")
            #expect(odd.status == 201)
            let again = try await app.put("phone", body(["security": false]), as: "alice")
            #expect(again.json["status"] == "unchanged")
            #expect(try await app.choices(of: "phone") == "news+default offers-default security+default")
            let wrong = try await app.put("phone", body(["news": "no", "nope": 1]), as: "alice")
            #expect(wrong.status == 400 && Set(wrong.faults) == ["/topics/news wrong-type", "/topics/nope wrong-type"])
            #expect(try await app.put("phone", body([true]), as: "alice").faults == ["/topics wrong-type"])
            #expect(try await app.put("phone", body(nil), as: "alice").json["status"] == "unchanged")
        }

        @Test func choices_areReset_withEachOwner_beforeThoseOfTheRegistration() async throws {
            let app = try await app()
            _ = try await app.choose(["offers": true], user: "bob")
            _ = try await app.put("phone", body(["news": false]))
            #expect(try await app.choices(of: "phone") == "news-installation offers-default security+default")
            _ = try await app.put("phone", as: "alice", session: "a")
            #expect(try await app.choices(of: "phone") == "news+default offers-default security+default")
            _ = try await app.choose(["news": false], on: "phone")
            _ = try await app.put("phone", as: "alice", session: "b")
            #expect(try await app.choices(of: "phone") == "news-installation offers-default security+default")
            _ = try await app.put("phone", body(["offers": false]), as: "bob")
            #expect(try await app.choices(of: "phone") == "news+default offers-installation security+default")
            _ = try await app.put("phone", as: "alice")
            #expect(try await app.choices(of: "phone") == "news+default offers-default security+default")
            try await app.expectIntact()
        }

        @Test func takeover_resetsTheFormerHolder_andNotTheNextOne() async throws {
            let app = try await app()
            let token = SampleRegistration.token("shared")
            _ = try await app.choose(["offers": true], user: "alice")
            _ = try await app.put("phone", body(["news": false, "offers": false], token: token), as: "alice")
            _ = try await app.put("tablet", body(["news": false], "tablet"), as: "bob")
            _ = try await app.put("tablet", SampleRegistration.make("tablet", token: token), as: "bob")
            #expect(try await app.choices(of: "phone") == "news+default offers+user security+default")
            #expect(try await app.choices(of: "tablet") == "news-installation offers-default security+default")
            try await app.expectCompleteHistory()
            try await app.expectIntact()
        }

        @Test func deletion_beginsAnew() async throws {
            let app = try await app()
            _ = try await app.put("phone", body(["news": false]), as: "alice")
            _ = try await app.delete("phone")
            _ = try await app.put("phone", as: "alice")
            #expect(try await app.choices(of: "phone").hasPrefix("news+default"))
            try await app.expectIntact()
        }
    }
}
