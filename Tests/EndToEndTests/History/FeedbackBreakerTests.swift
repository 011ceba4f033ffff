import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    // Its own registry: others look at what is degraded.
    @Suite("Too many dead verdicts are held until an administrator decides (R9)", .separateRegistry)
    struct FeedbackBreakerTests {
        /// Ten phones, of which seven are reported as dead: two are believed.
        private func app() async throws -> (app: RegistryApp, since: String) {
            let app = try await RegistryApp.make(policy: ["feedbackBreaker": ["count": 1, "share": 0.2]])
            for number in 0..<10 { _ = try await app.put("phone-\(number)", as: "alice") }
            try await app.waitTwoDays()
            let since = try await app.now()
            let response = try await app.feedback((0..<7).map { .dead("phone-\($0)") })
            #expect(response.counts == ["received": 7, "unregistered": 2, "suspect": 5, "held": 5])
            return (app, since)
        }

        private func states(_ app: RegistryApp) async throws -> [String] {
            var states: [String] = []
            for number in 0..<10 { states.append(try await app.get("phone-\(number)").json["state"].string ?? "") }
            return states
        }

        private func degraded(_ app: RegistryApp) async throws -> [JSON] {
            let response = try await app.registry.send("GET", "/readyz", key: nil)
            #expect(response.status == 200)
            return response.json["degraded"].array
        }

        /// On Citus, a process reads the breakers every 15 seconds.
        private func expectBreaker(_ app: RegistryApp, isShown: Bool = true) async throws {
            let name = JSON.string("feedback:\(app.id):apns")
            try await eventually("\(name)", within: CitusCluster.isWanted ? .seconds(40) : .zero) {
                try await degraded(app).contains(name) == isShown
            }
        }

        private func count(_ app: RegistryApp) async throws -> Int64? { try await app.count([:]) }

        @Test func heldVerdicts_areReported_andReleased() async throws {
            let (app, _) = try await app()
            #expect(
                try await states(app) == Array(repeating: "unregistered", count: 2)
                    + Array(repeating: "suspect", count: 5) + Array(repeating: "active", count: 3))
            #expect(try await count(app) == 3)
            try await expectBreaker(app)
            let metrics = try await app.registry.send("GET", "/metrics", key: nil).text
            #expect(metrics.contains(#"push_registry_feedback_held_total{provider="apns"} "#))
            let log = app.registry.service.command.log.split(separator: "\n").filter { $0.contains("breaker") }
            #expect(log.count { $0.contains(app.id) && $0.contains("error") } == 1)
            #expect(try await app.events(of: "phone-6").last?.event == "suspect")

            let path = "/feedback/release"
            #expect(try await app.send("POST", path, ["provider": "apns"], by: .role(.service)).status == 403)
            let dry = try await app.send("POST", path, ["provider": "apns", "dryRun": true], by: .role(.admin))
            #expect(dry.status == 200 && dry.json == ["released": 5])
            try await expectBreaker(app)
            // The app of one of them is alive.
            #expect(try await app.put("phone-2", as: "alice").json["state"] == "active")
            #expect(try await app.send("POST", path, ["provider": "fcm"], by: .role(.admin)).json == ["released": 0])
            #expect(try await app.send("POST", path, ["provider": "apns"], by: .role(.admin)).json == ["released": 4])
            #expect(try await states(app).count { $0 == "unregistered" } == 6)
            try await expectBreaker(app, isShown: false)
            let last = try #require(try await app.events(of: "phone-6").last)
            #expect(last.event == "unregistered" && last.reason == "feedbackBreaker")
            try await app.expectCompleteHistory()
            let audit = app.registry.service.command.log.split(separator: "\n")
                .filter { $0.contains("feedback released") && $0.contains(app.id) }
            #expect(audit.count == 2)
        }

        @Test func outage_isUndone_exceptForThoseThatChangedSince() async throws {
            let (app, since) = try await app()
            _ = try await app.put("phone-0", as: "bob")
            _ = try await app.send("POST", "/installations/phone-3/logout", [:])
            func run(_ arguments: String...) async throws -> (status: Int32, output: String, log: String) {
                try await app.registry.run(["feedback"] + arguments)
            }
            let dry = try await run("restore", app.id, "apns", "--since", since, "--dry-run", "--json")
            #expect(try dry.status == 0 && JSON(parsing: dry.output.utf8) == ["restored": 5], "\(dry.log)")
            #expect(!dry.log.contains("feedback restored"))
            let restored = try await run("restore", app.id, "apns", "--since", since)
            #expect(restored.status == 0 && restored.output == "5 restored\n", "\(restored.log)")
            #expect(restored.log.contains("feedback restored"))
            var expected = Array(repeating: "active", count: 10)
            // A logout takes the owner of a suspect and keeps its state.
            expected[3] = "suspect"
            #expect(try await states(app) == expected)
            try await expectBreaker(app, isShown: false)
            #expect(try await run("release", app.id, "apns", "--json").output.contains("0"))
            #expect(try await run("release", app.id, "carrierPigeon").status == 64)
            #expect(try await run("restore", app.id, "apns", "--since", "yesterday").status == 64)
            let last = try #require(try await app.events(of: "phone-6").last)
            #expect(last.event == "reactivated" && last.reason == "feedbackRestored")
            try await app.expectCompleteHistory()
        }

        @Test func heldVerdicts_areReleasedByACommand_andRestoredByACallOfAdmins() async throws {
            let (app, since) = try await app()
            #expect(try await app.events(of: "phone-6").last?.reason == "feedbackBreaker")
            let dry = try await app.registry.run(["feedback", "release", app.id, "apns", "--dry-run", "--json"])
            #expect(try dry.status == 0 && JSON(parsing: dry.output.utf8) == ["released": 5], "\(dry.log)")
            #expect(try await states(app).count { $0 == "suspect" } == 5)
            let released = try await app.registry.run(["feedback", "release", app.id, "apns"])
            #expect(released.status == 0 && released.output == "5 released\n", "\(released.log)")
            #expect(try await states(app).count { $0 == "unregistered" } == 7)

            let body: JSON = ["provider": "apns", "since": .string(since)]
            #expect(try await app.send("POST", "/feedback/restore", body, by: .role(.service)).status == 403)
            #expect(try await app.send("POST", "/feedback/restore", body, by: .role(.admin)).json == ["restored": 7])
            #expect(try await states(app).allSatisfy { $0 == "active" })
            #expect(try await app.events(of: "phone-6").suffix(2).map(\.event) == ["unregistered", "reactivated"])
            try await app.expectCompleteHistory()
        }

        /// The installations whose VoIP token is handed out.
        private func voip(_ app: RegistryApp) async throws -> [String] {
            let body: JSON = ["filter": [:], "kind": "voip"]
            let phones = try await app.export(body).map { $0["installId"].string ?? "" }
            #expect(try await app.ask("count", body).json["count"].integer == Int64(phones.count))
            return phones.sorted()
        }

        /// Ten phones with a VoIP token each, of which seven are reported as dead: two are believed.
        @Test func heldTypedTokens_areReported_andReleased() async throws {
            let app = try await RegistryApp.make(policy: ["feedbackBreaker": ["count": 1, "share": 0.2]])
            for number in 0..<10 { _ = try await app.put("phone-\(number)", .withVoIP("phone-\(number)"), as: "alice") }
            let items = (0..<7).map { number -> JSON in
                ["token": .voip("phone-\(number)"), "kind": "voip", "reason": "Unregistered"]
            }
            let response = try await app.feedback(items)
            #expect(response.counts == ["received": 7, "unregistered": 2, "suspect": 5, "held": 5])
            #expect(try await voip(app) == ["phone-7", "phone-8", "phone-9"])
            #expect(try await states(app).allSatisfy { $0 == "active" })
            try await expectBreaker(app)
            let metrics = try await app.registry.send("GET", "/metrics", key: nil).text
            #expect(metrics.contains(#"push_registry_typed_tokens_removed_total{kind="voip"} "#))
            #expect(metrics.contains(#"push_registry_feedback_held_total{provider="apns"} "#))
            let log = app.registry.service.command.log.split(separator: "\n").filter { $0.contains("breaker") }
            #expect(log.count { $0.contains(app.id) && $0.contains("voip") } == 1)
            // The installation's other calls go on: one of them registers again.
            #expect(try await app.put("phone-2", .withVoIP("phone-2"), as: "alice").json["status"] == "updated")
            let one: JSON = ["token": .voip("phone-3")]
            #expect(try await app.send("PUT", "/installations/phone-3/tokens/voip/-", one).status == 200)
            #expect(try await voip(app) == ["phone-2", "phone-3", "phone-7", "phone-8", "phone-9"])

            let path = "/feedback/release"
            let dry = try await app.send("POST", path, ["provider": "apns", "dryRun": true], by: .role(.admin))
            #expect(dry.status == 200 && dry.json == ["released": 3], "\(dry.text)")
            #expect(try await app.send("POST", path, ["provider": "apns"], by: .role(.admin)).json == ["released": 3])
            try await expectBreaker(app, isShown: false)
            #expect(try await app.get("phone-4").json["tokens"] == [])
            #expect(try await app.put("phone-4", .withVoIP("phone-4"), as: "alice").json["status"] == "updated")
            #expect(try await voip(app).count == 6)
            try await app.expectCompleteHistory()
        }

        @Test(arguments: [
            ("release", "{}", "/provider required"), ("release", #"{"provider":"sms"}"#, "/provider unknown-provider"),
            ("release", #"{"provider":"apns","since":"2026-01-01T00:00:00Z"}"#, "/since unknown-member"),
            ("restore", #"{"provider":"apns"}"#, "/since required"),
            ("restore", #"{"provider":"apns","since":"yesterday"}"#, "/since invalid-time"),
            ("restore", #"{"provider":"apns","since":"2026-01-01T00:00:00Z","dryRun":1}"#, "/dryRun wrong-type"),
        ])
        func body_isRefused_withItsFault(call: String, body: String, fault: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.send(
                "POST", "/feedback/\(call)", JSON(parsing: body.utf8), by: .role(.admin))
            #expect(response.status == 400 && response.faults == [fault], "\(response.text)")
        }
    }
}

extension JSON {
    /// The registration of an installation with a VoIP token.
    fileprivate static func withVoIP(_ installID: String) -> JSON {
        var body = SampleRegistration.make(installID)
        body["tokens"] = [["kind": "voip", "token": .voip(installID)]]
        return body
    }

    fileprivate static func voip(_ installID: String) -> JSON {
        .string(SampleRegistration.token("\(installID) voip"))
    }
}
