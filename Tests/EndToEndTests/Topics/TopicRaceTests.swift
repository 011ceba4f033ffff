import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Choices stay consistent in any race (fine print 47, 49, 87)")
    struct TopicRaceTests {
        private static let clients = 64

        private func app() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            for topic in ["news", "offers", "sport"] { try await app.putTopic(topic, isIn: topic != "offers") }
            return app
        }

        private func expect(_ statuses: [Int], _ allowed: Set<Int> = [200, 201]) {
            #expect(statuses.allSatisfy(allowed.contains), "\(statuses)")
        }

        @Test func patch_besideRegistrations_losesNothing() async throws {
            let app = try await app()
            _ = try await app.put("phone", as: "alice")
            for round in 0..<3 {
                let chosen = JSON.boolean(round % 2 == 0)
                expect(
                    try await race(Self.clients) { number in
                        switch number % 4 {
                        case 0: return try await app.choose(["news": chosen], on: "phone").status
                        case 1: return try await app.choose(["sport": chosen], user: "alice").status
                        case 2:
                            var body = SampleRegistration.make("phone")
                            body["device"]["locale"] = .string(number % 8 == 2 ? "fr_FR" : "it_IT")
                            return try await app.put("phone", body, as: "alice").status
                        default:
                            var body = SampleRegistration.make("phone")
                            body["topics"] = ["offers": chosen]
                            return try await app.put("phone", body, as: "alice").status
                        }
                    })
                let sign = round % 2 == 0 ? "+" : "-"
                #expect(
                    try await app.choices(of: "phone")
                        == "news\(sign)installation offers\(sign)installation sport\(sign)user"
                )
                try await app.expectIntact()
            }
            try await app.expectCompleteHistory()
        }

        @Test func patch_besideTakeover_leavesNothingBehind() async throws {
            let app = try await app()
            let token = SampleRegistration.token("contended")
            for user in 0..<4 { _ = try await app.choose(["offers": .boolean(user % 2 == 0)], user: "user-\(user)") }
            for _ in 0..<3 {
                expect(
                    try await race(Self.clients) { number in
                        let phone = "phone-\(number % 8)"
                        switch number % 3 {
                        case 0: return try await app.choose(["news": false], on: phone).status
                        case 1:
                            return try await app.choose(
                                ["sport": .boolean(number % 2 == 0)], user: "user-\(number % 4)"
                            ).status
                        default:
                            let body = SampleRegistration.make(phone, token: token)
                            return try await app.put(phone, body, as: "user-\(number % 4)").status
                        }
                    }, [200, 201, 404])
                #expect(try await app.holders(of: token).count == 1)
                try await app.expectIntact()
            }
            try await app.expectCompleteHistory()
        }

        @Test func usersPatch_reachesEveryInstallation_thatRegistersMeanwhile() async throws {
            let app = try await app()
            for round in 0..<3 {
                let chosen = round % 2 == 0
                expect(
                    try await race(Self.clients) { number in
                        if number % 8 == 0 {
                            return try await app.choose(["offers": .boolean(chosen)], user: "alice").status
                        }
                        if number % 8 == 1 { return try await app.delete("phone-\(number)-\(round)").status }
                        return try await app.put("phone-\(number - number % 2)-\(round)", as: "alice").status
                    }, [200, 201, 204])
                let left = try await app.send("GET", "/users/alice/installations?limit=1000").json["installations"]
                    .array
                for installation in left {
                    let choices = try await app.choices(of: installation["installId"].string ?? "")
                    #expect(choices == "news+default offers\(chosen ? "+" : "-")user sport+default")
                }
                try await app.expectIntact()
            }
        }

        @Test func deletedTopic_hasNoChoices_whateverWasUnderWay() async throws {
            let app = try await app()
            _ = try await app.put("phone", as: "alice")
            for _ in 0..<3 {
                expect(
                    try await race(Self.clients) { number in
                        switch number {
                        case 0: return try await app.send("DELETE", "/topics/news", by: .role(.marketing)).status
                        case 1...31: return try await app.choose(["news": false], on: "phone").status
                        default: return try await app.choose(["news": false], user: "alice").status
                        }
                    }, [200, 204, 400])
                try await app.putTopic("news", isIn: true)
                #expect(try await app.choices(of: "phone").hasPrefix("news+default"))
                #expect(try await app.count(["topic": "news"]) == 1)
                try await app.expectIntact()
            }
        }

        @Test func topic_isNotBothDeletedAndNamed_byASegment() async throws {
            let app = try await app()
            for _ in 0..<5 {
                try await app.putTopic("news", isIn: true)
                let statuses = try await race(2) { side in
                    side == 0
                        ? try await app.send("DELETE", "/topics/news", by: .role(.marketing)).status
                        : try await app.send(
                            "PUT", "/segments/s", ["filter": ["topic": "news"]], by: .role(.marketing)
                        ).status
                }
                #expect([[204, 400], [201, 409]].contains(statuses.sorted()), "\(statuses)")
                let isDeleted = statuses.contains(204)
                #expect(try await app.ask("count", ["filter": ["segment": "s"]]).status == (isDeleted ? 400 : 200))
                _ = try await app.send("DELETE", "/segments/s", by: .role(.marketing))
            }
        }
    }
}
