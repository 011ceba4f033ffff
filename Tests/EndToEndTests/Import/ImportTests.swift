import Basics
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    // Its own registry: other tests corrupt rows on purpose, which verify would find.
    @Suite("An import adds installations and changes no registered ones", .separateRegistry)
    struct ImportTests {
        /// All fields of an export.
        static let fields: [String] = [
            "installId", "provider", "token", "generation", "userId", "locale", "language", "region", "timeZone",
            "utcOffset",
            "systemName", "osVersion", "appVersion", "deviceModel", "carrier", "appStore", "authorizationStatus",
            "soundSetting", "badgeSetting", "alertSetting", "notificationCenterSetting", "lockScreenSetting",
            "carPlaySetting", "criticalAlertSetting", "announcementSetting", "alertStyle", "showPreviewsSetting",
            "providesAppNotificationSettings", "lastSeenAt", "createdAt", "location",
        ]

        static let keys: JSON = [
            "p256dh": .string(String(base64URL: [4] + [UInt8](repeating: 7, count: 64))),
            "auth": .string(String(base64URL: [UInt8](repeating: 9, count: 16))),
        ]

        /// An app with installations that differ in the fields of an export.
        private func fleet() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            try await app.register([
                ("one", ["locale": "de_AT", "carrier": "A \"quoted\", with commas\nand a line"]),
                (
                    "two",
                    ["systemVersion": "18.0.1", "timeZoneId": "Europe/Nowhere", "timeZoneOffset": 1200, "carrier": ""]
                ),
            ])
            try await app.register([("three", ["timeZoneId": "Asia/Kolkata"])], as: "alice")
            var bare = SampleRegistration.make("four", token: "fcm:four", provider: "fcm", settings: [:])
            for name in ["carrier", "language", "region", "appStore", "location", "appVersion"] {
                bare["device"] = bare["device"].without(name)
            }
            _ = try await app.put("four", bare)
            return app
        }

        private func export(_ app: RegistryApp, _ format: String, _ fields: [String]) async throws -> [UInt8] {
            let response = try await app.ask(
                "export",
                [
                    "filter": [:], "include": "all", "format": .string(format),
                    "fields": .array(fields.map { .string($0) }),
                ])
            #expect(response.status == 200, "\(response.text)")
            return Array(response.body)
        }

        @Test func endpoints_areSkipped_whosePushServiceThePolicyDoesNotAllow() async throws {
            let app = try await RegistryApp.make(policy: ["webPushHosts": ["ntfy.sh"]])
            let lines = ["https://ntfy.sh/up1", "https://ntfy.example/up2", "https://fcm.googleapis.com/up3"].map {
                [
                    "installId": .string(String($0.suffix(3))), "provider": "webPush", "token": .string($0),
                    "keys": Self.keys,
                ]
                    as JSON
            }
            for (arguments, imported) in [(["--dry-run"], 1), ([], 1)] as [([String], Int64)] {
                let run = try await ImportRun(lines, into: app, arguments)
                #expect(run.status == 0 && run.counts == [3, imported, 0, 2, 0], "\(run.log)")
                #expect(run.summary["skipped"] == ["pushServiceNotAllowed": 2])
            }
            #expect(try await app.get("up1").status == 200)
            #expect(try await app.get("up2").status == 404)
        }

        /// The fingerprint of the device, the session and the subscription's keys survive.
        @Test(arguments: ["ndjson", "csv"])
        func import_restoresEveryField_ofAnExport(format: String) async throws {
            let (source, copy) = (try await fleet(), try await RegistryApp.make())
            var request = source.registration("phone", as: "alice", session: "s1")
            request.fields.append((name: "X-Session-Expires-At", value: "2126-12-22T09:30:00Z"))
            _ = try await source.registry.client.response(to: request)
            _ = try await source.put("tablet", as: "alice", session: "s1")
            let push = SampleRegistration.make("web", token: "https://fcm.googleapis.com/1", provider: "webPush")
            _ = try await source.put("web", .object(push.object.merging(["keys": Self.keys]) { $1 }))
            let keys = format == "ndjson" ? ["keys"] : ["p256dh", "auth"]
            let fields =
                Self.fields + keys
                + ["keychainId", "vendorId", "preferredLanguages", "sessionId", "sessionExpiresAt", "cursor"]
            let run = try await ImportRun(try await export(source, format, fields), into: copy, as: "fleet.\(format)")
            #expect(run.status == 0 && run.counts == [7, 7, 0, 0, 0], "\(run.rejectsText) \(run.log)")
            #expect(!run.log.contains("ignored"))
            let compared = fields.filter { !["generation", "cursor"].contains($0) }
            #expect(try await export(copy, format, compared) == export(source, format, compared))
            for filter: JSON in [[:], ["locale": "de"], ["osVersion": ["gte": "18.1"]], ["userId": ["exists": true]]] {
                #expect(try await copy.count(filter) == source.count(filter))
            }
            for phone in ["phone", "tablet", "web"] {
                let (was, now) = (try await source.get(phone).json, try await copy.get(phone).json)
                for member in ["userId", "sessionId", "sessionExpiresAt", "device", "settings", "token", "keys"] {
                    #expect(now[member] == was[member], "\(phone) \(member)")
                }
            }
            // R5: a reinstall is recognised.
            var body = SampleRegistration.make("phone-2")
            for name in ["keychainId", "vendorId"] {
                body["device"][name] = SampleRegistration.device("phone")[name]
            }
            _ = try await copy.put("phone-2", body)
            #expect(try await copy.get("phone").json["probablyReplacedBy"] == "phone-2")
            #expect(try await copy.send("DELETE", "/sessions/s1").json["loggedOut"] == 2)
            try await Registry.shared.expectVerified()
        }

        @Test func import_skipsASession_thatHasEnded() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.send("DELETE", "/sessions/s1")
            let lines: [JSON] = ["s1", "s2"].map { session in
                [
                    "installId": .string(session), "provider": "fcm", "token": .string(session), "userId": "alice",
                    "sessionId": .string(session), "lastSeenAt": "2999-01-01T00:00:00Z",
                ]
            }
            #expect(try await ImportRun(lines, into: app).counts == [2, 1, 0, 1, 0])
            #expect(try await app.get("s2").json["sessionId"] == "s2")
            #expect(try await app.get("s1").status == 404)
            let faulty: [JSON] = [
                ["installId": "a", "provider": "fcm", "token": "a", "sessionId": "s"],
                [
                    "installId": "b", "provider": "fcm", "token": "b", "userId": "u",
                    "sessionExpiresAt": "2999-01-01T00:00:00Z",
                ],
            ]
            let run = try await ImportRun(faulty, into: app)
            #expect(
                run.rejects.map { "\($0["field"].string ?? "") \($0["code"].string ?? "")" } == [
                    "sessionId required", "sessionExpiresAt required",
                ])
            try await Registry.shared.expectVerified()
        }

        /// For these providers an `unknown` permission is reachable.
        @Test func userWhoOptedOut_staysUnreachable_whateverWordTheFileHas() async throws {
            let app = try await RegistryApp.make()
            let words = ["false", "no", "0", "optedOut", "nope", "true", "yes", "subscribed", ""]
            let lines = words.enumerated().map { "i\($0),\($0 % 2 == 0 ? "fcm" : "huawei"),t\($0),\($1)\r\n" }
            let file = "installId,provider,token,authorizationStatus\r\n" + lines.joined()
            for arguments in [["--dry-run"], []] {
                let run = try await ImportRun(file.utf8, into: app, as: "fleet.csv", arguments)
                #expect(run.status == 0 && run.summary["imported"] == 9, "\(run.log)")
                #expect(run.summary["notUnderstood"] == ["authorizationStatus": ["nope": 1]])
            }
            #expect(try await app.count([:]) == 4)
            let json = try await ImportRun(
                [["installId": "flag", "provider": "fcm", "token": "flag", "authorizationStatus": false]], into: app)
            #expect(json.status == 0, "\(json.rejectsText)")
            #expect(try await app.get("flag").json["settings"]["authorizationStatus"] == "denied")
            try await Registry.shared.expectVerified()
        }

        /// Of any type of JSON: a table of somebody's own may have numbers for ids and flags, and texts for numbers.
        @Test func optionalValue_thatCannotBeRead_rejectsNoLine() async throws {
            let app = try await RegistryApp.make()
            let lines: [JSON] = [
                [
                    "installId": 1, "provider": "android", "token": "t1", "userId": 42, "utcOffset": "3600",
                    "providesAppNotificationSettings": "true", "languages": ["iw-IL", "de"], "language": "iw",
                    "location": ["latitude": "52.5", "longitude": 13.4], "lastSeenAt": 1_795_000_000,
                ],
                [
                    "installId": "2", "provider": "FCM", "token": "t2", "userId": "NULL", "utcOffset": 99_999_999,
                    "providesAppNotificationSettings": 7, "languages": [7],
                    "location": ["latitude": 91, "longitude": 0], "lastSeenAt": "0000-00-00",
                    "createdAt": "2026-01-02", "keychainId": "(null)",
                ],
                ["installId": "3", "provider": "fcm", "token": "t3", "location": "52.5 13.4", "languages": "de"],
                ["installId": "4", "provider": "fcm", "token": ["t"]],
                ["installId": "5", "provider": "fcm", "token": nil],
            ]
            let run = try await ImportRun(lines, into: app)
            #expect(run.counts == [5, 3, 0, 0, 2], "\(run.rejectsText) \(run.log)")
            #expect(
                Set(run.summary["notUnderstood"].object.keys) == [
                    "utcOffset", "providesAppNotificationSettings", "languages", "location", "lastSeenAt",
                ])
            let one = try await app.get("1").json
            #expect(one["userId"] == "42" && one["lastSeenAt"] == "2026-11-18T11:06:40Z")
            #expect(one["device"]["languages"] == ["he-IL", "de"] && one["device"]["locale"] == "he")
            #expect(one["device"]["timeZoneOffset"] == 3600 && one["device"]["location"]["latitude"] == 52.5)
            let two = try await app.get("2").json
            #expect(two["userId"] == .null && two["lastSeenAt"] == "2026-01-02T00:00:00Z")
            #expect(two["device"]["location"] == .null)
            #expect(try await app.count(["language": "iw"]) == 1)
            #expect(try await app.count(["locale": "iw"]) == 1)
            try await Registry.shared.expectVerified()
        }

        @Test func unknownZone_isInNoWave_unlessTheFileHasItsOffset() async throws {
            let app = try await RegistryApp.make()
            let zones = [("Europe/Belin", ""), ("GMT+2", ""), ("GMT+2", "7200"), ("Asia/Kolkata", "")]
            let lines = zones.enumerated().map { "i\($0),fcm,t\($0),\($1.0),\($1.1)\r\n" }
            let file = "installId,provider,token,timeZone,utcOffset\r\n" + lines.joined()
            let dry = try await ImportRun(file.utf8, into: app, as: "fleet.csv", ["--dry-run"])
            #expect(dry.summary["forecast"]["withoutTimeZone"] == 2, "\(dry.log)")
            let run = try await ImportRun(file.utf8, into: app, as: "fleet.csv")
            #expect(run.summary["notUnderstood"] == ["timeZone": ["Europe/Belin": 1, "GMT+2": 2]])
            let waves = try await app.ask("waves", ["filter": [:], "localTime": "10:00", "date": "2026-12-01"]).json
            #expect(waves["waves"].array.map { $0["timeZones"] } == [["Asia/Kolkata"], ["GMT+2"]], "\(waves)")
            #expect(waves["withoutTimeZone"] == 2)
            try await Registry.shared.expectVerified()
        }

        @Test func import_changesNothing_whenItIsRunAgain() async throws {
            let (source, copy) = (try await fleet(), try await RegistryApp.make())
            let file = try await export(source, "ndjson", Self.fields)
            _ = try await ImportRun(file, into: copy)
            let before = try await export(copy, "ndjson", Self.fields)
            let again = try await ImportRun(file, into: copy)
            #expect(again.status == 0)
            #expect(again.counts == [4, 0, 4, 0, 0])
            #expect(try await export(copy, "ndjson", Self.fields) == before)
            #expect(try await copy.events(of: "one").map(\.event) == ["imported"])
        }

        @Test func import_doesNotChange_aRegisteredInstallationOrItsToken() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let run = try await ImportRun(
                [
                    ["installId": "phone", "token": .string(SampleRegistration.token("other"))],
                    ["installId": "thief", "token": .string(SampleRegistration.token("phone").uppercased())],
                    ["installId": "twin", "provider": "fcm", "token": .string(SampleRegistration.token("phone"))],
                ], into: app)
            #expect(run.counts == [3, 1, 1, 1, 0])
            #expect(try await app.get("thief").status == 404)
            let record = try await app.get("phone").json
            #expect(record["token"].string == SampleRegistration.token("phone"))
            #expect(record["userId"] == "alice")
        }

        @Test func import_importsATokenOnce_whenTwoLinesHaveIt() async throws {
            let app = try await RegistryApp.make()
            let lines: [JSON] = [
                ["installId": "a", "provider": "fcm", "token": "t1"],
                ["installId": "b", "provider": "fcm", "token": "t1"],
                ["installId": "a", "provider": "fcm", "token": "t2"],
            ]
            #expect(try await ImportRun(lines, into: app).counts == [3, 1, 1, 1, 0])
            #expect(try await ImportRun(lines, into: app).counts == [3, 0, 2, 1, 0])
        }

        /// Also in another file than the newest, and whatever the order.
        @Test(arguments: [false, true]) func import_takesTheNewestRow_ofTwoSpellingsOfAnAddress(
            isReversed: Bool
        ) async throws {
            let app = try await RegistryApp.make()
            let fid = "dQw4w9WgXcQ-_012345678"
            func line(_ installID: String, _ token: String, _ seenAt: JSON) -> JSON {
                [
                    "installId": .string(installID), "provider": "fcm", "token": .string(token), "lastSeenAt": seenAt,
                ]
            }
            let lines = [
                line("old", fid + ":a", "2026-01-02T03:04:05Z"), line("new", fid, "2026-02-02T03:04:05Z"),
                line("older", fid + ":b", "2026-01-01T03:04:05Z"), line("other", "e" + fid.dropFirst(), .null),
                line("huawei", fid, .null), line("legacy", "a:b", .null), line("legacy2", "a:c", .null),
            ].map { line in
                var line = line
                if line["installId"] == "huawei" { line["provider"] = "huawei" }
                return line
            }
            let run = try await ImportRun(isReversed ? lines.reversed() : lines, into: app)
            #expect(run.counts == [7, 5, 0, 0, 0] && run.summary["duplicates"] == 2, "\(run.log)")
            #expect(try await app.holders(of: fid) == ["huawei", "new"])
            #expect(try await app.get("old").status == 404)
            let again = try await ImportRun([line("third", fid + ":c", .null)], into: app)
            #expect(again.counts == [1, 0, 0, 1, 0])
            try await Registry.shared.expectVerified()
        }

        @Test func import_takesTheNewestRow_ofATable_whoseColumnsAreMapped() async throws {
            let app = try await RegistryApp.make()
            let fid = "dQw4w9WgXcQ-_012345678"
            let file = "id,push,type,seen\r\na,\(fid):a,android,2026-01-01\r\nb,\(fid),android,2026-01-02\r\nc,x\r\n"
            let maps = ["id=installId", "push=token", "type=provider", "seen=lastSeenAt"].flatMap { ["--map", $0] }
            let run = try await ImportRun(file.utf8, into: app, as: "fleet.csv", maps)
            #expect(run.counts == [3, 1, 0, 0, 1] && run.summary["duplicates"] == 1, "\(run.log)")
            #expect(try await app.holders(of: fid) == ["b"])
        }

        @Test func firstRegistration_isAnUpdate_andReplacesTheImportedData() async throws {
            let app = try await RegistryApp.make()
            let line: JSON = [
                "installId": "phone", "token": .string(SampleRegistration.token("phone")), "userId": "alice",
                "locale": "fr",
                "lastSeenAt": "2026-01-02T03:04:05Z", "generation": 12,
            ]
            #expect(try await ImportRun([line], into: app).counts == [1, 1, 0, 0, 0])
            let imported = try await app.get("phone").json
            #expect(imported["state"] == "active")
            #expect(imported["lastSeenAt"] == "2026-01-02T03:04:05Z")
            #expect(imported["device"]["locale"] == "fr")
            #expect(imported["device"]["deviceModel"] == "unknown")
            #expect((imported["generation"].integer ?? 0) > 1_700_000_000_000_000)
            #expect(try await app.send("GET", "/installations/phone/snapshots").json["snapshots"].array.count == 1)

            #expect(try await app.put("phone", as: "alice").json["status"] == "updated")
            #expect(try await app.put("phone", as: "alice").json["status"] == "unchanged")
            #expect(try await app.get("phone").json["device"]["locale"] == "de_DE")
            #expect(try await app.send("GET", "/installations/phone/snapshots").json["snapshots"].array.count == 2)
            try await Registry.shared.expectVerified()
        }

        @Test func firstRegistration_isAnUpdate_whenNothingDiffers() async throws {
            let (source, copy) = (try await RegistryApp.make(), try await RegistryApp.make())
            var body = SampleRegistration.make("phone")
            for name in ["keychainId", "vendorId", "languages"] { body["device"] = body["device"].without(name) }
            _ = try await source.put("phone", body)
            _ = try await ImportRun(try await export(source, "ndjson", Self.fields), into: copy)
            #expect(try await copy.put("phone", body).json["status"] == "updated")
            #expect(try await copy.put("phone", body).json["status"] == "unchanged")
        }

        @Test func import_skipsAUser_whoWasLoggedOutSince() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.send("POST", "/users/alice/logout", [:])
            func line(_ name: String, _ seenAt: JSON) -> JSON {
                [
                    "installId": .string(name), "provider": "fcm", "token": .string(name), "userId": "alice",
                    "lastSeenAt": seenAt,
                ]
            }
            let lines = [
                line("before", "2026-01-02T03:04:05Z"), line("whoKnows", .null), line("after", "2999-01-01T00:00:00Z"),
            ]
            #expect(try await ImportRun(lines, into: app).counts == [3, 1, 0, 2, 0])
            #expect(try await app.get("after").json["userId"] == "alice")
            try await Registry.shared.expectVerified()
        }

        @Test func dryRun_hasTheSameCounts_andWritesNothing() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            let lines: [JSON] = [
                ["installId": "phone", "provider": "fcm", "token": "t"],
                ["installId": "new", "provider": "fcm", "token": "t"],
                ["installId": "x", "token": .string(SampleRegistration.token("phone"))], ["installId": "y"],
            ]
            #expect(try await ImportRun(lines, into: app, ["--dry-run"]).counts == [4, 1, 1, 1, 1])
            #expect(try await app.get("new").status == 404)
            #expect(try await ImportRun(lines, into: app).counts == [4, 1, 1, 1, 1])
        }
    }
}
