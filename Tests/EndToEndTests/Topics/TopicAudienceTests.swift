import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Audiences select by topic, and counts equal exports (fine print 50, 92)")
    struct TopicAudienceTests {
        /// news: in by default, left by b and c (by its user). offers: out by default, chosen by a and b.
        private func app() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            try await app.putTopic("news", isIn: true)
            try await app.putTopic("offers", isIn: false)
            try await app.putTopic("security", isIn: true, isLocked: true)
            for (installID, user, locale) in [("a", "u", "de_DE"), ("b", "v", "de_DE"), ("c", "w", "fr_FR")] {
                var body = SampleRegistration.make(installID)
                body["device"]["locale"] = .string(locale)
                _ = try await app.put(installID, body, as: user)
            }
            _ = try await app.put("d", SampleRegistration.make("d"))
            _ = try await app.choose(["offers": true], on: "a")
            _ = try await app.choose(["news": false, "offers": true], on: "b")
            _ = try await app.choose(["news": false], user: "w")
            return app
        }

        @Test func filter_selectsSubscribers() async throws {
            let app = try await app()
            for (filter, expected) in [
                (["topic": "news"], "a d"), (["topic": ["ne": "news"]], "b c"), (["topic": "offers"], "a b"),
                (["topic": ["news", "offers"]], "a b d"), (["topic": ["nin": ["news", "offers"]]], "c"),
                (["topic": "security"], "a b c d"), (["topic": ["nin": ["security"]]], ""), (["topic": []], ""),
                (["topic": "news", "locale": "de"], "a d"), (["topic": "offers", "locale": "fr"], ""),
                (["any": [["topic": "news"], ["locale": "fr"]]], "a c d"),
                (["not": ["topic": "news"], "locale": "de"], "b"),
                (["all": [["topic": "news"], ["topic": "offers"]]], "a"),
                (["topic": "news", "carrier": "Example"], "a d"),
            ] as [(JSON, String)] {
                let ids = expected.split(separator: " ").map { JSON.string(String($0)) }
                #expect(try await app.count(filter) == Int64(ids.count), "\(filter.text)")
                let page = try await app.ask("installations", ["filter": filter]).json["installations"].array
                #expect(page.map { $0["installId"] } == ids, "\(filter.text)")
                #expect(try await app.export(["filter": filter]).map { $0["installId"] } == ids, "\(filter.text)")
            }
        }

        @Test func changes_countAtOnce() async throws {
            let app = try await app()
            #expect(try await app.count(["topic": "news"]) == 2)
            _ = try await app.choose(["news": true], on: "b")
            #expect(try await app.count(["topic": "news"]) == 3)
            _ = try await app.send("POST", "/installations/b/logout", ["keepAnonymous": true])
            #expect(try await app.count(["topic": "offers"]) == 1)
            try await app.putTopic("news", isIn: false)
            #expect(try await app.count(["topic": "news"]) == 0)
            try await app.putTopic("news", isIn: true, isLocked: true)
            #expect(try await app.count(["topic": "news"]) == 4)
            #expect(try await app.send("DELETE", "/users/u").status == 200)
            #expect(try await app.count(["topic": "offers"]) == 0)
            let query = try await app.send("GET", "/audience/count?topic=news&topic.nin=offers", by: .role(.marketing))
            #expect(query.json["count"] == 3)
            try await app.expectIntact()
        }

        @Test func breakdown_countsAnInstallation_onceForEachOfItsTopics() async throws {
            let app = try await app()
            let all = try await app.ask("breakdown", ["filter": [:], "by": ["topic"]]).json
            #expect(all["total"] == 4 && all["overlapping"] == true && all["rest"] == ["groups": 0, "count": 0])
            #expect(
                all["groups"] == [
                    ["topic": "security", "count": 4], ["topic": "news", "count": 2], ["topic": "offers", "count": 2],
                ])
            let few = try await app.ask("breakdown", ["filter": [:], "by": ["topic"], "limit": 1]).json
            #expect(few["rest"] == ["groups": 2, "count": 4] && few["total"] == 4)
            let mixed = try await app.ask(
                "breakdown", ["filter": ["topic": "offers"], "by": ["topic", "locale"]]
            ).json
            #expect(mixed["total"] == 2 && mixed["groups"].array.count == 3)
            let byLocale = try await app.ask("breakdown", ["filter": ["topic": "news"], "by": ["locale"]]).json
            #expect(byLocale["groups"] == [["locale": "de_DE", "count": 2]] && byLocale["overlapping"] == .null)
            let empty = try await RegistryApp.make()
            _ = try await empty.put("phone")
            let none = try await empty.ask("breakdown", ["filter": [:], "by": ["topic"]]).json
            #expect(none["total"] == 1 && none["groups"] == [] && none["overlapping"] == true)
        }

        @Test func unknownTopic_isRefused_atItsValue() async throws {
            let app = try await app()
            for (filter, fault) in [
                (["topic": "nope"], "/filter/topic unknown-topic"),
                (["any": [["topic": ["in": ["news", "nope"]]]]], "/filter/any/0/topic/in/1 unknown-topic"),
                (["topic": ["exists": true]], "/filter/topic/exists operator-not-allowed"),
                (["topic": 5], "/filter/topic wrong-type"),
            ] as [(JSON, String)] {
                #expect(try await app.ask("count", ["filter": filter]).faults == [fault])
                #expect(
                    try await app.send("PUT", "/segments/s", ["filter": filter], by: .role(.marketing)).faults == [
                        fault
                    ])
            }
            let fields = try await app.send(
                "POST", "/audience/export", ["filter": [:], "fields": ["installId", "topic"]], by: .role(.sender))
            #expect(fields.status == 400 && fields.faults.first?.hasPrefix("/fields/1 ") == true)
        }

        @Test func topic_isNotDeleted_whileASegmentNamesIt() async throws {
            let app = try await app()
            let filter: JSON = ["filter": ["any": [["topic": ["nin": ["news"]]], ["locale": "de"]]]]
            #expect(try await app.send("PUT", "/segments/s", filter, by: .role(.marketing)).status == 201)
            #expect(try await app.count(["segment": "s"]) == 4)
            let refused = try await app.send("DELETE", "/topics/news", by: .role(.marketing))
            #expect(refused.status == 409 && refused.code == "topic-in-use")
            #expect(try await app.send("DELETE", "/topics/offers", by: .role(.marketing)).status == 204)
            _ = try await app.send("PUT", "/segments/s", ["filter": [:]], by: .role(.marketing))
            #expect(try await app.send("DELETE", "/topics/news", by: .role(.marketing)).status == 204)
        }
    }
}
