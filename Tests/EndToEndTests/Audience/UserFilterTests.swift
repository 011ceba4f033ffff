import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Filters by lists of users are for those who may know users (R14)")
    struct UserFilterTests {
        private func makeApp() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            try await app.register([("a-phone", [:]), ("a-tablet", ["locale": "fr_FR"])], as: "alice")
            try await app.register([("b-phone", [:])], as: "bob")
            try await app.register([("nobody", [:])])
            return app
        }

        @Test func users_areCountedListedAndExported() async throws {
            let app = try await makeApp()
            #expect(try await app.count(["userId": ["in": ["alice", "carol"]]]) == 2)
            #expect(try await app.count(["userId": ["alice", "bob"]]) == 3)
            #expect(try await app.count(["userId": ["in": []]]) == 0)
            // Without a user, an installation meets `nin`, as without a value of any other field.
            #expect(try await app.count(["userId": ["nin": ["alice"]]]) == 2)
            #expect(try await app.count(["userId": ["nin": ["alice"], "exists": true]]) == 1)
            let others: JSON = ["filter": ["userId": ["nin": ["alice"]]], "explain": true]
            #expect(try await app.ask("count", others).json["explain"]["path"] == "scan")
            #expect(try await app.count(["any": [["userId": ["bob"]], ["locale": "fr"]]]) == 2)
            let filter: JSON = ["filter": ["not": ["userId": ["nin": ["alice"]]], "locale": "de"]]
            let list = try await app.ask("installations", filter).json["installations"].array
            #expect(list.compactMap { $0["installId"].string } == ["a-phone"])
            #expect(try await app.export(filter).compactMap { $0["installId"].string } == ["a-phone"])
            let groups = try await app.ask("breakdown", ["filter": ["userId": ["alice"]], "by": ["locale"]]).json
            #expect(groups["total"] == 2 && groups["groups"].array.count == 2)
        }

        @Test func user_thatHasLeft_isNotSelected() async throws {
            let app = try await makeApp()
            #expect(try await app.put("a-phone", as: "bob").status == 200)
            #expect(try await app.count(["userId": ["alice"]], include: "all") == 1)
            #expect(try await app.count(["userId": ["bob"]], include: "all") == 2)
        }

        @Test(arguments: ["count", "breakdown", "installations", "export"])
        func marketing_isRefused(call: String) async throws {
            let app = try await RegistryApp.make()
            var body: JSON = ["filter": ["any": [["locale": "de"], ["not": ["userId": ["in": ["alice"]]]]]]]
            if call == "breakdown" { body["by"] = ["locale"] }
            let response = try await app.ask(call, body, by: .role(.marketing))
            #expect(response.status == 403 && response.text.contains("role sender or service"), "\(response.text)")
            #expect(try await app.ask(call, body, by: .role(.admin)).status == 200)
        }

        @Test func segment_doesNotOpenUsersToMarketing() async throws {
            let app = try await makeApp()
            let filter: JSON = ["userId": ["in": ["alice"]]]
            let refused = try await app.send("PUT", "/segments/vip", ["filter": filter], by: .role(.marketing))
            #expect(refused.status == 403)
            #expect(try await app.send("PUT", "/segments/vip", ["filter": filter], by: .role(.admin)).status == 201)
            let outer: JSON = ["filter": ["any": [["segment": "vip"], ["locale": "fr"]]]]
            #expect(try await app.send("PUT", "/segments/outer", outer, by: .role(.marketing)).status == 201)
            for name in ["vip", "outer"] {
                #expect(try await app.count(["segment": .string(name)]) == 2)
                let response = try await app.ask(
                    "count", ["filter": ["segment": .string(name)]], by: .role(.marketing))
                #expect(response.status == 403, "\(response.text)")
                let query = try await app.send("GET", "/audience/count?segment=\(name)", by: .role(.marketing))
                #expect(query.status == 403, "\(query.text)")
            }
            #expect(try await app.send("GET", "/segments/vip", by: .role(.sender)).json["filter"] == filter)
            let shown = try await app.send("GET", "/segments/vip", by: .role(.marketing))
            #expect(shown.json["filter"] == ["segment": "vip"])
            let list = try await app.send("GET", "/segments", by: .role(.marketing)).json["segments"].array
            #expect(list.map { $0["filter"] } == [outer["filter"], ["segment": "vip"]])
            #expect(try await app.send("GET", "/segments", by: .role(.sender)).text.contains("alice"))
        }

        @Test func query_isRefused_andSaysToUsePost() async throws {
            let app = try await RegistryApp.make()
            for name in ["userId", "userId.in", "userId.nin"] {
                let response = try await app.send("GET", "/audience/count?\(name)=alice", by: .role(.sender))
                #expect(response.status == 400 && response.faults == ["\(name) unknown-parameter"])
                #expect(response.text.contains("POST"))
            }
            let exists = try await app.send("GET", "/audience/count?userId.exists=true", by: .role(.marketing))
            #expect(exists.status == 200)
        }

        @Test func users_areAtMostTenThousand_withThoseOfSegments() async throws {
            let app = try await makeApp()
            func users(_ count: Int) -> JSON { .array((0..<count).map { .string("user-\($0)") } + ["alice"]) }
            let values = JSON.array((0..<1_000).map { .string("\($0)") })
            #expect(try await app.count(["userId": users(9_999), "not": ["carrier": values]]) == 2)
            let many = try await app.ask("count", ["filter": ["userId": ["in": users(10_000)]]])
            #expect(many.status == 400 && many.faults == ["/filter/userId/in too-many"], "\(many.text)")
            let segment: JSON = ["filter": ["userId": ["nin": users(4_000)]]]
            #expect(try await app.send("PUT", "/segments/most", segment, by: .role(.admin)).status == 201)
            let whole = try await app.ask("count", ["filter": ["segment": "most", "userId": users(6_000)]])
            #expect(whole.status == 400 && whole.faults == ["/filter too-wide"], "\(whole.text)")
            let bad = try await app.ask("count", ["filter": ["userId": ["in": ["alice", "", 5]]]])
            #expect(bad.faults == ["/filter/userId/in/1 invalid-user-id", "/filter/userId/in/2 wrong-type"])
        }
    }
}
