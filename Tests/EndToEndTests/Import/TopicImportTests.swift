import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("With --topics, tags and channels of other systems become topics", .separateRegistry)
    struct TopicImportTests {
        /// A row of Parse Server with a token of FCM.
        private func row(
            _ id: String, _ channels: [String], user: String? = nil, token: String? = nil
        ) -> JSON {
            var row: JSON = [
                "installationId": .string(id), "deviceType": "android", "deviceToken": .string(token ?? "token-\(id)"),
                "channels": .array(channels.map { .string($0) }), "updatedAt": "2026-11-02T03:04:05.678Z",
            ]
            if let user { row["user"] = .string(user) }
            return row
        }

        @Test func channels_becomeTopics_andMissingOnesAreCreated() async throws {
            let app = try await RegistryApp.make()
            try await app.putTopic("news", isIn: true)
            let rows = [
                row("one", ["News", "Weekly Offers", "", "news"], user: "alice"), row("two", ["news"]),
                row("three", []),
                row("four", ["ada@example.com", "weekly offers"]),
            ]
            let preview = try await ImportRun(rows, into: app, ["--topics", "--dry-run"])
            #expect(preview.summary["forecast"]["topics"] == ["news": 2, "weekly-offers": 2], "\(preview.log)")
            #expect(preview.summary["topics"] == ["created": ["weekly-offers"], "choices": 4, "ignored": 1])
            #expect(try await app.send("GET", "/topics").json["topics"].array.count == 1)

            let result = try await ImportRun(rows, into: app, ["--topics"])
            #expect(result.counts == [4, 4, 0, 0, 0], "\(result.log)")
            #expect(result.summary["topics"] == preview.summary["topics"])
            #expect(!result.log.contains("example.com") && !result.summary.text.contains("example.com"))
            let topics = try await app.send("GET", "/topics").json["topics"].array
            #expect(topics.map { $0["topic"] } == ["news", "weekly-offers"])
            #expect(topics[1]["name"] == "Weekly Offers" && topics[1]["default"] == "out")
            #expect(try await app.choices(of: "one") == "news+installation weekly-offers+installation")
            #expect(try await app.choices(of: "two") == "news+installation weekly-offers-default")
            #expect(try await app.choices(of: "three") == "news+default weekly-offers-default")
            #expect(try await app.count(["topic": "weekly-offers"]) == 2)
            #expect(
                try await app.events(of: "one").map { "\($0.event) \($0.reason)" }
                    == ["imported imported", "topicsChanged imported"])
            try await app.expectIntact()
            try await Registry.shared.expectVerified()

            let again = try await ImportRun(rows, into: app, ["--topics"])
            #expect(again.counts == [4, 0, 4, 0, 0])
            #expect(again.summary["topics"] == ["created": [], "choices": 0, "ignored": 1])
            #expect(try await app.count(["topic": "weekly-offers"]) == 2)
        }

        @Test func choiceOfTheUser_isInherited_beneathTheImportedOnes() async throws {
            let app = try await RegistryApp.make()
            for topic in ["news", "offers"] { try await app.putTopic(topic, isIn: false) }
            _ = try await app.choose(["news": false, "offers": true], user: "alice")
            _ = try await ImportRun([row("phone", ["news"], user: "alice")], into: app, ["--topics"])
            #expect(try await app.choices(of: "phone") == "news+installation offers+user")
            try await app.expectIntact()
        }

        /// OneSignal's tags are names with values: those that say yes or no are choices.
        @Test func tagsOfOneSignal_areChoices_ifTheirValueIsYesOrNo() async throws {
            let app = try await RegistryApp.make()
            try await app.putTopic("news", isIn: true)
            let tags = #"{""news"":""0"",""offers"":""true"",""plan"":""pro"",""level"":""12""}"#
            let file = """
                id,identifier,device_type,tags,last_active
                phone,token-1,1,"\(tags)",2026-11-20 08:00:00
                tablet,token-2,1,{},2026-11-20 08:00:00
                old,token-3,1,no json,2026-11-20 08:00:00

                """
            let result = try await ImportRun(file.utf8, into: app, as: "players.csv", ["--topics"])
            #expect(result.counts == [3, 3, 0, 0, 0], "\(result.log)")
            #expect(try await app.choices(of: "phone") == "news-installation offers+installation")
            #expect(try await app.choices(of: "tablet") == "news+default offers-default")
            #expect(try await app.count(["topic": "news"]) == 2)
        }

        @Test(arguments: [
            ("airship.json", ["--environment", "sandbox"], "as-1", "t1+installation t2+installation"),
            (
                "azure.xml", ["--environment", "production", "--last-seen", "2026-11-01"], "8b3e1b9e-1",
                "tag1+installation"
            ),
            (
                "parse.ndjson", ["--environment", "production", "--only-app", "com.example.a"], "pi-1",
                "news+installation"
            ),
        ])
        func tags_becomeTopics_ofEachSystem(
            file: String, arguments: [String], installID: String, choices: String
        ) async throws {
            let app = try await RegistryApp.make()
            let result = try await ImportRun(
                try ForeignImportTests.export(file), into: app, as: file, arguments + ["--topics"])
            #expect(result.summary["topics"].object["created"] != nil, "\(result.log)")
            #expect(try await app.choices(of: installID) == choices)
            try await app.expectIntact()
        }

        /// Azure has one registration for each template, with its own tags.
        @Test func registrationsOfOneInstallation_areMerged_unlessTheyNameAnother() async throws {
            func line(_ kind: String, _ token: String, _ tags: String) -> String {
                "<\(kind)RegistrationDescription><Tags>\(tags)</Tags>"
                    + "<FcmV1RegistrationId>\(token)</FcmV1RegistrationId></\(kind)RegistrationDescription>"
            }
            let lines = [
                line("FcmV1", "t1", "$InstallationId:{one},$UserId:{alice},News"),
                line("FcmV1", "t2", "$InstallationId:{former},$UserId:{bob},offers"),
                line("FcmV1Template", "t1", "$InstallationId:{ONE},offers"),
                line("FcmV1", "t2", "$InstallationId:{two}"),
                line("FcmV1Template", "t1", "$InstallationId:{one},news"),
            ]
            for options in [[], ["--dry-run"]] {
                let app = try await RegistryApp.make()
                let result = try await ImportRun(
                    lines.joined(separator: "\n").utf8, into: app, as: "hub.xml",
                    ["--topics", "--last-seen", "2026-11-01"] + options)
                #expect(result.counts == [5, 2, 0, 0, 0] && result.summary["duplicates"] == 3, "\(result.log)")
                #expect(result.summary["topics"]["choices"] == 2, "\(result.log)")
                guard options.isEmpty else { continue }
                #expect(try await app.choices(of: "one") == "news+installation offers+installation")
                #expect(try await app.get("one").json["userId"] == "alice")
                #expect(try await app.choices(of: "two") == "news-default offers-default")
                #expect(try await app.get("two").json["userId"] == .null)
            }
        }

        @Test func systemWithoutTopics_isRefused() async throws {
            let app = try await RegistryApp.make()
            let sns = try await ImportRun(
                try ForeignImportTests.export("sns.json"), into: app, as: "sns.json",
                ["--last-seen", "2026-11-20", "--topics"])
            #expect(sns.status == 64 && sns.log.contains("--topics"), "\(sns.log)")
            let own = try await ImportRun(
                #"{"installId":"a","token":"b","provider":"fcm"}"#.utf8, into: app, ["--topics"])
            #expect(own.status == 64)
            #expect(try await app.count([:]) == 0)
        }

        @Test func tooManyTags_areRefused_unlessSomeAreNamed() async throws {
            let app = try await RegistryApp.make()
            let rows = (0...1_000).map { row("phone-\($0)", ["tag-\($0)"]) }
            let all = try await ImportRun(rows, into: app, ["--topics"])
            #expect(all.status == 64 && all.log.contains("--only-topic"), "\(all.log)")
            #expect(all.log.contains("tag-0 1, tag-1 1"), "\(all.log)")
            #expect(try await app.count([:]) == 0)
            let some = try await ImportRun(rows, into: app, ["--topics", "--only-topic", "tag-7"])
            #expect(some.summary["imported"] == 1_001 && some.summary["topics"]["choices"] == 1, "\(some.log)")
        }

        // MARK: The takeover

        @Test(arguments: [nil, "alice"])
        func takeoverByTheAppsOwnInstallation_keepsTheTopics(importedUser: String?) async throws {
            let app = try await RegistryApp.make()
            let rows = [row("theirs", ["news", "offers"], user: importedUser, token: "token")]
            _ = try await ImportRun(rows, into: app, ["--topics"])
            var body = SampleRegistration.make("ours", token: "token")
            body["provider"] = "fcm"
            body["topics"] = ["offers": false]
            #expect(try await app.put("ours", body, as: "alice").status == 201)
            #expect(try await app.choices(of: "ours") == "news+installation offers-installation")
            #expect(try await app.choices(of: "theirs") == "news-default offers-default")
            let events = try await app.send("GET", "/installations/ours/history").json["events"].array
            #expect(events.map { $0["event"] } == ["topicsChanged", "takenOver"])
            #expect(events[0]["topics"] == ["news", "offers"])
            #expect(try await app.count(["topic": "news"]) == 1)
            // A second takeover resets: the installation has registered.
            var next = SampleRegistration.make("next", token: "token")
            next["provider"] = "fcm"
            _ = try await app.put("next", next, as: "alice")
            #expect(try await app.choices(of: "next") == "news-default offers-default")
            try await app.expectIntact()
            try await Registry.shared.expectVerified()
        }

        @Test func takeoverByAnotherUser_endsTheTopics() async throws {
            let app = try await RegistryApp.make()
            _ = try await ImportRun(
                [row("theirs", ["news"], user: "alice", token: "token")], into: app, ["--topics"])
            var body = SampleRegistration.make("ours", token: "token")
            body["provider"] = "fcm"
            _ = try await app.put("ours", body, as: "bob")
            #expect(try await app.choices(of: "ours") == "news-default")
            try await app.expectIntact()
        }

        /// The app may keep the other system's id.
        @Test func firstRegistration_keepsTheTopics_unlessTheUserIsAnother() async throws {
            let app = try await RegistryApp.make()
            let rows = [
                row("anonymous", ["news"]), row("same", ["news"], user: "alice"), row("other", ["news"], user: "bob"),
            ]
            _ = try await ImportRun(rows, into: app, ["--topics"])
            for id in ["anonymous", "same", "other"] {
                var body = SampleRegistration.make(id, token: "token-\(id)")
                body["provider"] = "fcm"
                #expect(try await app.put(id, body, as: "alice").json["status"] == "updated")
            }
            #expect(try await app.choices(of: "anonymous") == "news+installation")
            #expect(try await app.choices(of: "same") == "news+installation")
            #expect(try await app.choices(of: "other") == "news-default")
            _ = try await app.put("anonymous", as: "bob")
            #expect(try await app.choices(of: "anonymous") == "news-default")
            try await app.expectIntact()
        }
    }
}
