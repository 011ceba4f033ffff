import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite(
        "Audiences are counted as of past days, from the night job's records", .separateRegistry, .serialized)
    struct PastDayTests {
        /// An app with three records of the same state, the last one of two days ago. It has changed since.
        private func makeApp() async throws -> (app: RegistryApp, days: [String]) {
            let app = try await RegistryApp.make()
            _ = try await app.send("PUT", "/topics/news", ["name": "News", "default": "out"], by: .role(.admin))
            try await app.register([("a", [:]), ("b", ["locale": "fr_FR"]), ("c", ["systemVersion": "16.1"])])
            _ = try await app.send("PATCH", "/installations/a/topics", ["topics": ["news": true]], by: .role(.service))
            let days = try await app.recordCounts(daysAgo: [2, 3, 9])
            try await app.register([("d", [:]), ("e", ["locale": "sv_SE"])])
            #expect(try await app.delete("b").status == 204)
            return (app, days)
        }

        @Test func counts_areThoseOfTheDay() async throws {
            let (app, days) = try await makeApp()
            for (filter, present, past): (JSON, Int64, Int64) in [
                ([:], 4, 3), (["locale": "fr"], 0, 1), (["locale": "sv"], 1, 0),
                (["not": ["osVersion": ["gte": "17"]]], 1, 1), (["topic": "news"], 1, 1),
                (["all": [["topic": ["ne": "news"]], ["locale": "de"]]], 2, 1),
            ] {
                #expect(try await app.count(filter) == present, "\(filter)")
                let body: JSON = ["filter": filter, "asOf": .string(days[2])]
                let response = try await app.ask("count", body, by: .role(.marketing)).json
                #expect(response["count"].integer == past, "\(filter)")
                #expect(response["asOf"].string.map { $0 > days[2] } == true)
            }
            let query = "/audience/count?locale=fr&asOf=\(days[0])"
            #expect(try await app.send("GET", query, by: .role(.marketing)).json["count"] == 1)
            let body: JSON = ["filter": [:], "by": ["locale"], "asOf": .string(days[0])]
            let groups = try await app.ask("breakdown", body).json
            #expect(groups["total"] == 3)
            #expect(groups["groups"].array.map { $0["locale"].string } == ["de_DE", "fr_FR"])
            let topics: JSON = ["filter": [:], "by": ["topic"], "asOf": .string(days[0])]
            #expect(try await app.ask("breakdown", topics).json["groups"].array.map { $0["count"] } == [1])
        }

        @Test func trend_hasAPointForEachRecordedDay() async throws {
            let (app, days) = try await makeApp()
            func points(_ interval: String, from first: String, _ filter: JSON = [:]) async throws -> [String] {
                let body: JSON = [
                    "filter": filter, "from": .string(first), "to": .string(days[2]), "interval": .string(interval),
                ]
                let response = try await app.ask("trend", body, by: .role(.marketing))
                #expect(response.status == 200, "\(response.text)")
                return response.json["points"].array.map {
                    "\($0["at"].string ?? "") \($0["count"].integer ?? -1)"
                }
            }
            #expect(try await points("P1D", from: days[0]) == days.map { "\($0) 3" })
            #expect(try await points("P1D", from: days[1], ["locale": "fr"]) == days.dropFirst().map { "\($0) 1" })
            #expect(try await points("P1W", from: days[0]) == ["\(days[0]) 3", "\(days[2]) 3"])
            #expect(try await points("P1M", from: days[1]) == ["\(days[1]) 3"])
        }

        @Test func whatNoRecordHas_isRefused() async throws {
            let (app, days) = try await makeApp()
            let day = JSON.string(days[0])
            for (call, body, fault): (String, JSON, String) in [
                ("count", ["filter": [:], "asOf": "2020-01-01"], "/asOf no-record"),
                ("count", ["filter": [:], "asOf": "9999-12-31"], "/asOf no-record"),
                ("breakdown", ["filter": [:], "by": ["locale"], "asOf": "2020-01-01"], "/asOf no-record"),
                ("count", ["filter": [:], "asOf": "2026-02-30"], "/asOf invalid-date"),
                ("count", ["filter": [:], "asOf": "2026-02-03T00:00:00Z"], "/asOf invalid-date"),
                ("count", ["filter": [:], "asOf": 20_260_203], "/asOf wrong-type"),
                ("count", ["filter": [:], "asOf": day, "sample": 3], "/sample unknown-member"),
                ("count", ["filter": [:], "asOf": day, "explain": true], "/explain unknown-member"),
                ("count", ["filter": ["carrier": "x"], "asOf": day], "/filter not-in-record"),
                ("count", ["filter": [:], "asOf": day, "kind": "voip", "name": "x"], "/name not-in-record"),
                ("count", ["filter": [:], "asOf": day, "kind": "voip", "include": "all"], "/include not-in-record"),
                ("breakdown", ["filter": [:], "by": ["locale", "appVersion"], "asOf": day], "/by/1 not-in-record"),
                ("breakdown", ["filter": [:], "by": ["topic"], "kind": "voip", "asOf": day], "/by/0 not-in-record"),
                (
                    "breakdown", ["filter": ["carrier": "x"], "by": ["appVersion"], "asOf": day],
                    "/filter not-in-record"
                ),
                ("trend", ["filter": [:], "from": day, "to": "2020-01-01", "interval": "P1D"], "/to out-of-range"),
                ("trend", ["filter": [:], "from": "2000-01-01", "to": day, "interval": "P1W"], "/to too-many"),
                ("trend", ["filter": [:], "from": day, "to": day, "interval": "PT1H"], "/interval unknown-value"),
                ("trend", ["filter": [:], "from": day, "to": day], "/interval required"),
                (
                    "trend", ["filter": ["carrier": "x"], "from": day, "to": day, "interval": "P1D"],
                    "/filter not-in-record"
                ),
                ("installations", ["filter": [:], "asOf": day], "/asOf unknown-member"),
            ] {
                let response = try await app.ask(call, body)
                #expect(response.status == 400 && response.faults == [fault], "\(fault): \(response.text)")
            }
            let refused = try await app.send("GET", "/audience/count?appVersion=1&asOf=\(days[0])", by: .role(.sender))
            #expect(refused.status == 400 && refused.text.contains("appVersion"), "\(refused.text)")
            for credential in [RegistryApp.Credential.role(.client), .role(.service), .role(.support)] {
                let body: JSON = ["filter": [:], "from": day, "to": day, "interval": "P1D"]
                #expect(try await app.ask("trend", body, by: credential).status == 403)
            }
        }
    }
}
