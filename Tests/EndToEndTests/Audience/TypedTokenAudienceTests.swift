import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Typed tokens are counted, listed and exported by kind")
    struct TypedTokenAudienceTests {
        /// Three Live Activities on `a`, one on `b`, whose user allows no notifications; a VoIP token on each.
        private func app() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            _ = try await app.put("a", .typed("a", [("liveActivity", "x"), ("liveActivity", "y"), ("voip", nil)]))
            var denied = JSON.typed("b", [("liveActivity", "x"), ("voip", nil)])
            denied["settings"]["authorizationStatus"] = "denied"
            _ = try await app.put("b", denied)
            _ = try await app.put("c")
            return app
        }

        @Test func rows_areOfTokens_andCountsEqualThem() async throws {
            let app = try await app()
            for (body, names): (JSON, [String]) in [
                (["filter": [:], "kind": "liveActivity"], ["a x", "a y"]),
                (["filter": [:], "kind": "liveActivity", "name": "y"], ["a y"]),
                (["filter": [:], "kind": "liveActivity", "include": "active"], ["a x", "a y", "b x"]),
                (["filter": [:], "kind": "voip"], ["a ", "b "]), (["filter": [:], "kind": "widget"], []),
                (["filter": ["locale": "fr"], "kind": "voip"], []),
            ] {
                let rows = try await app.export(body)
                #expect(rows.map { "\($0["installId"].string ?? "") \($0["name"].string ?? "")" } == names)
                let page = try await app.ask("installations", body).json["installations"].array
                #expect(page.map { $0["token"] } == rows.map { $0["token"] })
                #expect(try await app.ask("count", body).json["count"].integer == Int64(names.count))
                var grouped = body
                grouped["by"] = ["systemName"]
                let breakdown = try await app.ask("breakdown", grouped).json
                #expect(breakdown["total"].integer == Int64(names.count))
                #expect(try await app.export(body, by: .role(.marketing)).count == names.count)
            }
        }

        @Test func rows_haveWhatASenderNeeds() async throws {
            let app = try await app()
            let body: JSON = ["filter": [:], "kind": "liveActivity", "name": "x"]
            let row = try #require(try await app.export(body).first)
            #expect(
                Set(row.object.keys) == [
                    "installId", "provider", "token", "environment", "name", "expiresAt", "generation", "cursor",
                ])
            #expect(row["token"].string == JSON.typedToken("a", "liveActivity", "x"))
            #expect(row["environment"] == "production" && row["name"] == "x" && row["expiresAt"].string != nil)
            let item = try await app.ask("installations", body).json["installations"][0]
            for member in ["token", "environment", "name", "expiresAt", "generation"] {
                #expect(item[member] == row[member])
            }
            let voip = try await app.ask("installations", ["filter": [:], "kind": "voip"]).json["installations"][0]
            #expect(voip.object["name"] == .null && voip.object["expiresAt"] == .null)
            let named = try await app.export(["filter": [:], "kind": "voip", "fields": ["installId", "environment"]])
            #expect(
                named == [
                    ["installId": "a", "environment": "production"], ["installId": "b", "environment": "production"],
                ])
            let csv = try await app.ask("export", ["filter": [:], "kind": "voip", "format": "csv"])
            #expect(
                csv.text.hasPrefix("installId,provider,token,environment,name,expiresAt,generation,cursor\r\na,apns,"))
        }

        @Test func cursors_tellTokensOfOneInstallationApart() async throws {
            let app = try await app()
            for role in [RegistryApp.Role.sender, .marketing] {
                let body: JSON = ["filter": [:], "kind": "liveActivity", "include": "all"]
                let all = try await app.export(body, by: .role(role))
                #expect(all.count == 3)
                for (index, row) in all.enumerated() {
                    var rest = body
                    rest["after"] = row["cursor"]
                    #expect(
                        try await app.export(rest, by: .role(role)).map { $0["cursor"] }
                            == all.dropFirst(index + 1).map { $0["cursor"] })
                }
                var (page, next, count): (JSON, JSON, Int) = (body, .null, 0)
                page["limit"] = 1
                repeat {
                    let answer = try await app.ask("installations", page, by: .role(role)).json
                    count += answer["installations"].array.count
                    next = answer["next"]
                    page["after"] = next
                } while next != .null
                #expect(count == 3)
                let main = try await app.export(["filter": [:]], by: .role(role))
                let (other, typed) = (main[0]["cursor"], all[0]["cursor"])
                #expect(
                    try await app.ask("export", ["filter": [:], "kind": "voip", "after": other], by: .role(role)).faults
                        == ["/after invalid-cursor"])
                #expect(
                    try await app.ask("export", ["filter": [:], "after": typed], by: .role(role)).faults
                        == ["/after invalid-cursor"])
            }
        }

        @Test func marketing_seesNoToken_andNoName() async throws {
            let app = try await app()
            let body: JSON = ["filter": [:], "kind": "liveActivity"]
            let rows = try await app.export(body, by: .role(.marketing))
            #expect(rows.allSatisfy { Set($0.object.keys) == ["id", "cursor"] })
            let page = try await app.ask("installations", body, by: .role(.marketing)).json["installations"].array
            #expect(page.count == 2 && page.allSatisfy { Set($0.object.keys) == ["id"] })
            #expect(page.map { $0["id"] } == rows.map { $0["id"] })
            for field in ["environment", "name", "expiresAt", "token"] {
                var asked = body
                asked["fields"] = [.string(field)]
                #expect(try await app.ask("export", asked, by: .role(.marketing)).status == 403)
            }
        }

        @Test(arguments: [
            ("count", #"{"filter":{},"name":"x"}"#, "/name required"),
            ("count", #"{"filter":{},"kind":"pigeon"}"#, "/kind unknown-token-kind"),
            ("breakdown", #"{"filter":{},"by":["locale"],"kind":7}"#, "/kind wrong-type"),
            ("installations", #"{"filter":{},"kind":"voip","name":"-"}"#, "/name invalid-token-name"),
            ("export", #"{"filter":{},"kind":"voip","name":""}"#, "/name invalid-token-name"),
            ("export", #"{"filter":{},"fields":["environment"]}"#, "/fields/0 unknown-field"),
            ("waves", #"{"filter":{},"localTime":"10:00","date":"2026-11-24","kind":"voip"}"#, "/kind unknown-member"),
        ])
        func query_isRefused_withAPointer(call: String, body: String, fault: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.ask(call, try JSON(parsing: Array(body.utf8)))
            #expect(response.status == 400 && response.faults == [fault], "\(response.text)")
        }

        @Test func queryForm_takesKindAndName() async throws {
            let app = try await app()
            for (query, count) in [("kind=liveActivity", 2), ("kind=liveActivity&name=y&systemName=iOS", 1)] {
                let response = try await app.send("GET", "/audience/count?\(query)", by: .role(.marketing))
                #expect(response.json["count"].integer == Int64(count))
            }
            for (query, parameter) in [("name=y", "name"), ("kind=pigeon", "kind"), ("kind=voip&name=.", "name")] {
                let response = try await app.send("GET", "/audience/count?\(query)", by: .role(.marketing))
                #expect(response.status == 400 && response.json["errors"][0]["parameter"].string == parameter)
            }
        }

        @Test func note_isLeftOut_whereTheAuthorizationDoesNotMatter() async throws {
            let app = try await app()
            for (kind, count): (JSON, Int) in [("voip", 0), ("liveActivity", 1)] {
                let body: JSON = ["filter": ["authorizationStatus": "denied"], "kind": kind]
                #expect(try await app.ask("count", body).json["notes"].array.count == count)
            }
        }

        @Test func sender_seesTheTokens_ofAUser_andSupportWithoutTheText() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("a", .typed("a", [("voip", nil), ("liveActivity", "x")]), as: "alice")
            let sent = try await app.send("GET", "/users/alice/installations", by: .role(.sender))
            let tokens = sent.json["installations"][0]["tokens"].array
            #expect(tokens.map { $0["kind"] } == ["liveActivity", "voip"])
            #expect(tokens.map { $0["name"] } == ["x", .null])
            #expect(
                tokens.map { $0["token"].string } == [
                    JSON.typedToken("a", "liveActivity", "x"), JSON.typedToken("a", "voip", nil),
                ])
            #expect(tokens.allSatisfy { $0["environment"] == "production" })
            #expect(tokens[0]["expiresAt"].string != nil && tokens[1].object["expiresAt"] == .null)
            let support = try await app.send("GET", "/users/alice/installations", by: .role(.support))
            let shown = support.json["installations"][0]["tokens"].array
            #expect(shown.count == 2 && shown.allSatisfy { $0.object["token"] == nil })
            #expect(!support.text.contains(JSON.typedToken("a", "voip", nil)))
        }
    }

    @Suite("Verdicts on typed tokens remove them alone")
    struct TypedTokenFeedbackTests {
        private func app() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            _ = try await app.put("a", .typed("a", [("voip", nil), ("liveActivity", "x"), ("liveActivity", "y")]))
            return app
        }

        private func kinds(_ app: RegistryApp) async throws -> [String] {
            try await app.database.column(
                """
                SELECT kind || ' ' || name FROM typed_token
                WHERE app_id = (SELECT id FROM app WHERE identifier = \(app.id)) ORDER BY 1
                """)
        }

        @Test func deadToken_isRemoved_withAndWithoutItsKind() async throws {
            for kind in ["voip", nil] as [String?] {
                let app = try await app()
                let events = try await app.events(of: "a")
                var item: JSON = ["token": .string(JSON.typedToken("a", "voip", nil)), "reason": "Unregistered"]
                if let kind { item["kind"] = .string(kind) }
                let response = try await app.feedback([item, item])
                #expect(response.counts == ["received": 2, "unregistered": 1, "unknown": 1], "\(response.text)")
                #expect(try await kinds(app) == ["liveActivity x", "liveActivity y"])
                let record = try await app.get("a").json
                #expect(record["state"] == "active")
                #expect(try await app.events(of: "a") == events)
                #expect(try await app.export(["filter": [:], "kind": "voip"]).isEmpty)
                try await app.expectCompleteHistory()
            }
        }

        /// The same body is not unchanged after a token of it has died.
        @Test func registration_bringsTheTokenBack() async throws {
            let app = try await app()
            let item: JSON = ["token": .string(JSON.typedToken("a", "voip", nil)), "reason": "BadDeviceToken"]
            #expect(try await app.feedback([item]).counts == ["received": 1, "unregistered": 1])
            let body = JSON.typed("a", [("voip", nil), ("liveActivity", "x"), ("liveActivity", "y")])
            #expect(try await app.put("a", body).json["status"] == "updated")
            #expect(try await kinds(app).count == 3)
            #expect(try await app.put("a", body).json["status"] == "unchanged")
        }

        @Test func installation_andKind_meanAllTokensOfTheKind() async throws {
            let app = try await app()
            var item: JSON = ["installId": "a", "kind": "liveActivity", "name": "x", "reason": "ExpiredToken"]
            #expect(try await app.feedback([item]).counts == ["received": 1, "unregistered": 1])
            #expect(try await kinds(app) == ["liveActivity y", "voip "])
            item = ["installId": "a", "kind": "liveActivity", "reason": "ExpiredToken"]
            #expect(try await app.feedback([item, item]).counts == ["received": 2, "unregistered": 1, "unknown": 1])
            #expect(try await kinds(app) == ["voip "])
        }

        @Test func mainToken_endsTheSet_inTheSameCall() async throws {
            let app = try await app()
            let main: JSON = .dead("a")
            let typed: JSON = ["token": .string(JSON.typedToken("a", "voip", nil)), "reason": "Unregistered"]
            try await app.waitTwoDays()
            let response = try await app.feedback([typed, main, typed])
            #expect(response.counts == ["received": 3, "unregistered": 2, "unknown": 1], "\(response.text)")
            #expect(try await kinds(app).isEmpty)
            #expect(try await app.get("a").json["state"] == "unregistered")
            try await app.expectCompleteHistory()
        }

        @Test func item_isInvalid_ofAnUnknownKind() async throws {
            let app = try await app()
            let response = try await app.feedback([
                ["installId": "a", "kind": "voip", "reason": "DeviceTokenNotForTopic"],
                ["installId": "a", "kind": "pigeon", "reason": "Unregistered"],
            ])
            #expect(response.counts == ["received": 2, "ignored": 1, "invalid": 1])
            #expect(response.json["errors"][0]["index"] == 1 && response.json["errors"][0]["pointer"] == "/kind")
            #expect(try await kinds(app).count == 3)
        }
    }
}

extension JSON {
    /// The registration of an installation with typed tokens.
    fileprivate static func typed(_ installID: String, _ tokens: [(kind: String, name: String?)]) -> JSON {
        var body = SampleRegistration.make(installID)
        body["tokens"] = .array(
            tokens.map { kind, name in
                var token: JSON = ["kind": .string(kind), "token": .string(typedToken(installID, kind, name))]
                if let name { token["name"] = .string(name) }
                return token
            })
        return body
    }

    fileprivate static func typedToken(_ installID: String, _ kind: String, _ name: String?) -> String {
        SampleRegistration.token("\(installID) \(kind) \(name ?? "")")
    }
}
