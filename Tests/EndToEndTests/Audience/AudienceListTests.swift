import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Lists and exports are complete, and show each role what it may see (fine print 38, 39, 44)")
    struct AudienceListTests {
        private static let names = ["a", "b", "c", "d", "e"]

        private func app(_ count: Int = 5) async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            try await app.register(Self.names.prefix(count).map { ($0, [:]) })
            return app
        }

        @Test func pages_containEachInstallationOnce() async throws {
            let app = try await app()
            var (seen, next, pages): ([JSON], JSON, Int) = ([], .null, 0)
            repeat {
                var body: JSON = ["filter": [:], "limit": 2]
                if next != .null { body["after"] = next }
                let page = try await app.ask("installations", body).json
                seen += page["installations"].array
                next = page["next"]
                pages += 1
            } while next != .null
            #expect(pages == 3 && seen.map { $0["installId"].string } == Self.names)
            #expect(seen[0]["token"].string == SampleRegistration.token("a") && seen[0]["provider"] == "apns")
            #expect(seen[0]["generation"].integer != nil && seen[0].object["keys"] == nil)
        }

        @Test func marketing_seesOpaqueIds_andNothingElse() async throws {
            let app = try await app()
            let page = try await app.ask("installations", ["filter": [:], "limit": 3], by: .role(.marketing))
            let items = page.json["installations"].array
            #expect(items.count == 3 && items.allSatisfy { Array($0.object.keys) == ["id"] })
            let exported = try await app.export(["filter": [:]], by: .role(.marketing))
            #expect(exported.map { $0["id"] }.prefix(3) == items.map { $0["id"] }[...])
            #expect(exported.allSatisfy { Set($0.object.keys) == ["id", "cursor"] })
            #expect(Set(exported.map { $0["id"] }).count == 5)
            let next = try #require(page.json["next"].string)
            let rest = try await app.ask(
                "installations", ["filter": [:], "after": .string(next)], by: .role(.marketing))
            #expect(rest.json["installations"].array.map { $0["id"] } == exported.suffix(2).map { $0["id"] })
            for text in [page.text, "\(exported)"] {
                #expect(!text.contains(SampleRegistration.token("a")) && !text.contains("installId"))
            }
        }

        /// With the order of install ids, anybody who may register and count could find one by bisection.
        @Test func marketingsRows_comeInTheOrderOfTheirIDs() async throws {
            let app = try await RegistryApp.make()
            try await app.register((1...9).map { ("phone-\($0)", [:]) })
            let exported = try await app.export(["filter": [:]], by: .role(.marketing)).map { $0["id"].string ?? "" }
            #expect(exported.count == 9 && exported.allSatisfy { $0.count == 32 } && exported == exported.sorted())
            var (listed, body): ([String], [String: JSON]) = ([], ["filter": [:], "limit": 2])
            repeat {
                let page = try await app.ask("installations", .object(body), by: .role(.marketing)).json
                listed += page["installations"].array.map { $0["id"].string ?? "" }
                body["after"] = page["next"]
            } while body["after"] != .null
            #expect(listed == exported)
        }

        @Test func opaqueIds_differ_fromAppToApp() async throws {
            let (one, other) = (try await app(1), try await app(1))
            let ids = [
                try await one.export(["filter": [:]], by: .role(.marketing)),
                try await other.export(["filter": [:]], by: .role(.marketing)),
            ].map { $0.first?["id"].string }
            #expect(ids[0] != nil && ids[1] != nil && ids[0] != ids[1])
        }

        @Test func cursor_isRefused_whenItIsInvalidOrOfAnotherList() async throws {
            let (app, other) = (try await app(), try await app())
            let cursor = try #require(
                try await other.ask("installations", ["filter": [:], "limit": 1]).json["next"].string)
            let sealed = try #require(
                try await other.ask("installations", ["filter": [:], "limit": 1], by: .role(.marketing)).json["next"]
                    .string)
            for (call, after) in [
                ("installations", "x"), ("installations", cursor), ("export", cursor), ("export", sealed),
            ] {
                let body: JSON = ["filter": [:], "after": .string(after)]
                #expect(try await app.ask(call, body).faults == ["/after invalid-cursor"])
                #expect(try await app.ask(call, body, by: .role(.marketing)).faults == ["/after invalid-cursor"])
            }
        }

        @Test func export_continues_afterAnyCursor() async throws {
            let app = try await app()
            for role in [RegistryApp.Role.sender, .marketing] {
                let all = try await app.export(["filter": [:]], by: .role(role))
                #expect(all.count == 5)
                for (index, line) in all.enumerated() {
                    let rest = try await app.export(["filter": [:], "after": line["cursor"]], by: .role(role))
                    let name = role == .sender ? "installId" : "id"
                    #expect(rest.map { $0[name] } == all.dropFirst(index + 1).map { $0[name] })
                }
            }
        }

        @Test func export_hasTheFieldsForSending_byDefault() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let line = try #require(try await app.export(["filter": [:]]).first)
            #expect(Set(line.object.keys) == ["installId", "provider", "token", "keys", "generation", "cursor"])
            #expect(line["token"].string == SampleRegistration.token("phone") && line["keys"] == .null)
        }

        @Test func fields_areTheRequestedOnes() async throws {
            let app = try await RegistryApp.make()
            try await app.register([("phone", ["carrier": "a,\"b\"\n", "language": "", "region": nil])], as: "alice")
            let fields: JSON = [
                "userId", "carrier", "language", "region", "location", "lastSeenAt", "utcOffset", "localTime",
                "osVersion",
                "providesAppNotificationSettings", "authorizationStatus",
            ]
            let line = try #require(try await app.export(["filter": [:], "fields": fields]).first)
            #expect(line["userId"] == "alice" && line["carrier"] == "a,\"b\"\n" && line["language"] == "")
            #expect(line["region"] == .null && line.object["cursor"] == nil && line["osVersion"] == "26.5")
            #expect(line["location"] == ["latitude": 52.52, "longitude": 13.4])
            #expect(line["providesAppNotificationSettings"] == true && line["authorizationStatus"] == "authorized")
            #expect(line["lastSeenAt"].string?.hasSuffix("Z") == true && line["localTime"].string?.count == 5)
            #expect(line["utcOffset"].integer.map { $0 % 3600 } == 0)
        }

        @Test func csv_followsRFC4180() async throws {
            let app = try await RegistryApp.make()
            try await app.register([("phone", ["carrier": "a,\"b\"\n", "language": "", "region": nil])])
            let response = try await app.ask(
                "export",
                [
                    "filter": [:], "format": "csv",
                    "fields": ["cursor", "installId", "carrier", "language", "region", "location", "generation"],
                ])
            #expect(response["Content-Type"] == "text/csv; charset=utf-8")
            let generation = try #require(try await app.get("phone").generation)
            let lines = response.text.split(separator: "\r\n", omittingEmptySubsequences: false)
            #expect(lines.count == 3 && lines[2].isEmpty)
            #expect(lines[0] == "installId,carrier,language,region,location,generation,cursor")
            #expect(lines[1].hasPrefix("phone,\"a,\"\"b\"\"\n\",\"\",,52.52 13.4,\(generation),"))
            let standard = try await app.ask("export", ["filter": [:], "format": "csv"])
            #expect(standard.text.hasPrefix("installId,provider,token,generation,cursor\r\n"))
            let empty = try await app.ask("export", ["filter": ["any": []], "format": "csv"], by: .role(.marketing))
            #expect(empty.text == "id,cursor\r\n")
        }

        @Test func admin_mayExportIDs_andEverythingThatSendersSee() async throws {
            let app = try await app()
            let body: JSON = ["filter": [:], "fields": ["id", "installId", "token", "cursor"]]
            let ids = Set(try await app.export(["filter": [:]], by: .role(.marketing)).map { $0["id"] })
            for admin in [RegistryApp.Credential.role(.admin), .text(RunningService.adminKey)] {
                let lines = try await app.export(body, by: admin)
                #expect(Set(lines.map { $0["id"] }) == ids && lines.map { $0["installId"].string } == Self.names)
                #expect(lines[0]["token"].string == SampleRegistration.token("a"))
                let rest = try await app.export(["filter": [:], "after": lines[3]["cursor"]], by: admin)
                #expect(rest.map { $0["installId"].string } == ["e"])
            }
            #expect(try await app.ask("export", body).faults == ["/fields/0 unknown-field"])
        }

        @Test(arguments: ["token", "installId", "userId", "keys"])
        func marketing_isRefused_whatIsForSenders(field: String) async throws {
            let app = try await app(1)
            let body: JSON = ["filter": [:], "fields": ["locale", .string(field)]]
            let response = try await app.ask("export", body, by: .role(.marketing))
            #expect(response.status == 403 && response.code == "forbidden")
            #expect(try await app.ask("export", body).status == 200)
        }

        @Test(arguments: [
            (#"{"filter":{},"fields":["locale","colour"]}"#, "/fields/1 unknown-field"),
            (#"{"filter":{},"fields":["languages"]}"#, "/fields/0 unknown-field"),
            (#"{"filter":{},"fields":[]}"#, "/fields required"),
            (#"{"filter":{},"fields":["locale","locale"]}"#, "/fields/1 duplicate-member"),
            (#"{"filter":{},"format":"xml"}"#, "/format unknown-value"),
            (#"{"filter":{},"format":"csv","fields":["keys"]}"#, "/fields/0 unknown-field"),
            (#"{"filter":{},"limit":5}"#, "/limit unknown-member"),
            (#"{"filter":{"carrier":{}}}"#, "/filter/carrier empty-condition"),
        ])
        func export_isRefused_beforeItBegins(body: String, fault: String) async throws {
            let app = try await app(1)
            let response = try await app.ask("export", try JSON(parsing: Array(body.utf8)))
            #expect(response.status == 400 && response.faults == [fault], "\(response.text)")
        }
    }
}
