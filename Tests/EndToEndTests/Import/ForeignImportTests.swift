import Foundation
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Exports of other systems are imported with the meaning of their values", .separateRegistry)
    struct ForeignImportTests {
        /// An export that was written for these tests, after the system's documentation.
        static func export(_ name: String) throws -> Data {
            let url = Bundle.module.bundleURL.appending(path: "Exports/\(name)")
            return try Data(contentsOf: url)
        }

        private func run(
            _ name: String, into app: RegistryApp, _ arguments: [String], as file: String? = nil
        ) async throws -> ImportRun {
            try await ImportRun(try Self.export(name), into: app, as: file ?? name, arguments)
        }

        /// The counts of a run of each system's file, and why it skips rows.
        static let outcomes: [(file: String, arguments: [String], format: String, counts: [Int64], skipped: JSON)] = [
            (
                "onesignal.csv", ["--environment", "production"], "onesignal", [11, 4, 0, 5, 1],
                ["email": 1, "noToken": 1, "optedOut": 1, "sms": 1, "unsubscribed": 1]
            ),
            (
                "pinpoint.ndjson", [], "pinpoint", [8, 3, 0, 5, 0],
                ["email": 1, "inactive": 1, "noToken": 1, "optedOut": 1, "voip": 1]
            ),
            ("sns.json", ["--last-seen", "2026-11-20"], "sns", [4, 2, 0, 2, 0], ["adm": 1, "disabled": 1]),
            (
                "parse.ndjson", ["--environment", "production", "--only-app", "com.example.a"], "parse",
                [5, 2, 0, 3, 0], ["foreignToken": 1, "otherApp": 2]
            ),
            (
                "airship.json", ["--environment", "sandbox"], "airship", [5, 2, 0, 3, 0],
                ["optedOut": 1, "sms": 1, "uninstalled": 1]
            ),
            (
                "azure.xml", ["--environment", "production", "--last-seen", "2026-11-01"], "azure", [6, 2, 0, 2, 1],
                ["expired": 1, "wns": 1]
            ),
            (
                "braze.ndjson", ["--environment", "production", "--only-app", "A"], "braze", [4, 2, 0, 2, 0],
                ["noToken": 1, "otherApp": 1]
            ),
        ]

        @Test(arguments: outcomes.indices)
        func export_isRecognised_andCountedByKind(index: Int) async throws {
            let expected = Self.outcomes[index]
            let app = try await RegistryApp.make()
            let result = try await run(expected.file, into: app, expected.arguments)
            #expect(result.summary["format"].string == expected.format, "\(result.log)")
            #expect(result.counts == expected.counts && result.summary["skipped"] == expected.skipped)
            #expect(result.status == (expected.counts[4] > 0 ? 2 : 0))
            let members: Set = [
                "format", "files", "read", "imported", "unchanged", "skipped", "rejected", "duplicates", "assumed",
                "notUnderstood", "forecast", "seconds",
            ]
            #expect(Set(result.summary.object.keys) == members)
            // A rerun changes nothing.
            let again = try await run(expected.file, into: app, expected.arguments + ["--from", expected.format])
            #expect(again.summary["imported"] == 0 && again.summary["unchanged"] == result.summary["imported"])
            let text = result.rejectsText + result.log + again.log
            for secret in ["example.com", "+1555", "fcm-token", "sns-fcm", "62BC80", "passwd"] {
                #expect(!text.contains(secret), "\(secret)")
            }
            try await Registry.shared.expectVerified()
        }

        @Test func values_areThoseOfTheExport() async throws {
            let app = try await RegistryApp.make()
            _ = try await run("onesignal.csv", into: app, ["--environment", "production"])
            let phone = try await app.get("os-1").json
            #expect(phone["provider"] == "apns" && phone["userId"] == "alice" && phone["reachable"] == true)
            #expect(phone["token"] == "80b1c0de80b1c0de80b1c0de80b1c0de80b1c0de80b1c0de80b1c0de80b1c0de")
            #expect(phone["lastSeenAt"] == "2026-11-20T08:00:00Z" && phone["createdAt"] == "2025-01-02T03:04:05Z")
            #expect(phone["device"]["locale"] == "de_DE" && phone["device"]["timeZoneId"] == "Europe/Berlin")
            // Unix seconds, and an offset without a name.
            let android = try await app.get("os-2").json
            #expect(android["lastSeenAt"] == "2026-11-18T11:06:40Z" && android["device"]["timeZoneId"] == .null)
            #expect(android["device"]["timeZoneOffset"] == -18000 && android["device"]["region"] == "US")
            // An opt-out of APNs is a denial.
            #expect(try await app.get("os-9").json["settings"]["authorizationStatus"] == "denied")
            let web = try await app.get("os-10").json
            #expect(web["keys"].object.count == 2 && web["device"]["systemVersion"] == "unknown")

            _ = try await run("braze.ndjson", into: app, ["--environment", "production", "--only-app", "A"])
            let tablet = try await app.get("d2").json["device"]
            #expect(tablet["systemVersion"] == "17.4" && tablet["timeZoneId"] == "America/New_York")
            _ = try await run("sns.json", into: app, ["--last-seen", "2026-11-20", "--user", "CustomUserData"])
            #expect(try await app.get("11111111-aaaa-bbbb-cccc-000000000001").json["userId"] == "user-1")
            _ = try await run("azure.xml", into: app, ["--environment", "production", "--last-seen", "2026-11-01"])
            #expect(try await app.get("8b3e1b9e-1").json["userId"] == "u-9")
        }

        @Test(arguments: [
            ("onesignal.csv", [], "--environment"), ("sns.json", [], "--last-seen"),
            ("parse.ndjson", ["--environment", "production"], "--only-app"),
        ])
        func missingOption_isNamed_beforeAnythingIsLoaded(
            file: String, arguments: [String], option: String
        ) async throws {
            let app = try await RegistryApp.make()
            let result = try await run(file, into: app, arguments)
            #expect(result.status == 64 && result.log.contains(option), "\(result.log)")
            #expect(try await app.count([:]) == 0)
        }

        @Test func severalApps_areImportedInOneRun_ifTheyAreNamed() async throws {
            let names = [("com.example.a", 2), ("com.example.b", 1)]
            let named = names.flatMap { ["--only-app", $0.0] }
            for (arguments, count) in [(named, Int64(3)), (["--all-apps"], 3), (Array(named.suffix(2)), 1)] {
                let app = try await RegistryApp.make()
                let result = try await run("parse.ndjson", into: app, ["--environment", "production"] + arguments)
                #expect(result.summary["imported"].integer == count, "\(result.log)")
            }
            let app = try await RegistryApp.make()
            let wrong = try await run(
                "parse.ndjson", into: app, ["--environment", "production", "--only-app", "com.example.c"] + named)
            #expect(wrong.status == 64 && names.allSatisfy { wrong.log.contains($0.0) }, "\(wrong.log)")
            let both = try await run("parse.ndjson", into: app, ["--all-apps"] + named)
            #expect(both.status == 64)
            #expect(try await app.count([:]) == 0)
        }

        /// The list of the REST API, as pages that were appended to one file.
        @Test func feedOfAzure_isReadAsItsExport() async throws {
            let app = try await RegistryApp.make()
            let lines = String(decoding: try Self.export("azure.xml"), as: UTF8.self)
            let entries = lines.split(separator: /\n(?=<)/).map { line in
                "<entry><id>1</id><title>\n</title><content type=\"application/xml\">\(line)</content></entry>"
            }
            let feed = "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>r</title>"
            let pages = [entries.prefix(3), entries.dropFirst(3)].map { feed + $0.joined() + "</feed>\n" }
            let arguments = ["--environment", "production", "--last-seen", "2026-11-01"]
            let result = try await ImportRun(pages.joined().utf8, into: app, as: "pages.xml", arguments)
            #expect(result.counts == [6, 2, 0, 2, 1] && result.summary["format"] == "azure", "\(result.log)")
            #expect(try await app.get("8b3e1b9e-1").json["userId"] == "u-9")
            let cut = try await ImportRun(pages[0].utf8.dropLast(9), into: app, as: "page.xml", arguments)
            #expect(cut.status == 1 && cut.log.contains("cut off"), "\(cut.log)")
        }

        @Test func assumption_lastsUntilTheFirstRegistration() async throws {
            let app = try await RegistryApp.make()
            let token = SampleRegistration.token("phone")
            let line: JSON = [
                "Id": "phone", "ChannelType": "APNS", "Address": .string(token),
                "EffectiveDate": "2026-11-01T00:00:00Z",
            ]
            func load(_ arguments: [String]) async throws -> ImportRun {
                try await ImportRun([line], into: app, arguments)
            }
            let preview = try await load(["--dry-run"])
            #expect(preview.summary["forecast"]["reachable"] == [:])
            #expect(preview.summary["forecast"]["withoutTimeZone"] == 1)
            let assumed = try await load(["--assume", "authorized"])
            #expect(assumed.summary["assumed"] == 1)
            let record = try await app.get("phone").json
            #expect(record["reachable"] == true && record["authorizationAssumed"] == true)
            #expect(record["settings"]["authorizationStatus"] == "unknown")
            #expect(record["device"]["timeZoneId"] == .null && record["device"]["timeZoneOffset"] == .null)
            #expect(try await app.count([:]) == 1)
            #expect(try await app.count(["appVersion": ["exists": false]]) == 1)
            try await Registry.shared.expectVerified()

            let waves = try await app.ask(
                "waves", ["filter": [:], "localTime": "10:00", "date": "2026-12-01"]
            ).json
            #expect(waves["waves"].array.isEmpty && waves["withoutTimeZone"] == 1 && waves["total"] == 1)

            var body = SampleRegistration.make("phone")
            body["settings"] = ["authorizationStatus": "denied"]
            #expect(try await app.put("phone", body).json["status"] == "updated")
            #expect(try await app.get("phone").json["authorizationAssumed"] == false)
            #expect(try await app.count([:]) == 0)
            _ = try await load(["--assume", "authorized"])
            #expect(try await app.get("phone").json["reachable"] == false)
            try await Registry.shared.expectVerified()
        }

        /// Whether the offset is known or not, the zone is not.
        @Test func unknownZone_isNoValue_inEveryResponse() async throws {
            let app = try await RegistryApp.make()
            let lines: [JSON] = [
                ["installId": "neither", "provider": "fcm", "token": "t1"],
                ["installId": "offset", "provider": "fcm", "token": "t2", "utcOffset": 3600],
                ["installId": "zone", "provider": "fcm", "token": "t3", "timeZone": "Europe/Berlin"],
            ]
            _ = try await ImportRun(lines, into: app)
            for filter in [[:], ["appVersion": ["exists": false]]] as [JSON] {
                let breakdown = try await app.ask("breakdown", ["filter": filter, "by": ["timeZone"]]).json
                #expect(
                    breakdown["groups"] == [
                        ["timeZone": nil, "count": 2], ["timeZone": "Europe/Berlin", "count": 1],
                    ], "\(breakdown)")
                let pairs = try await app.ask("breakdown", ["filter": filter, "by": ["timeZone", "utcOffset"]]).json
                #expect(pairs["groups"].array.count == 3 && pairs["total"] == 3, "\(pairs)")
            }
            #expect(try await app.count(["timeZone": ["exists": false]]) == 2)
            #expect(try await app.count(["timeZone": ["exists": true]]) == 1)
            #expect(try await app.count(["timeZone": ""]) == 0)
            #expect(try await app.count(["timeZone": ["ne": "Europe/Berlin"]]) == 2)
            let waves = try await app.ask(
                "waves", ["filter": [:], "localTime": "10:00", "date": "2026-12-01"]
            ).json
            #expect(waves["waves"].array.map { $0["timeZones"] } == [["Europe/Berlin", nil]], "\(waves)")
            #expect(waves["withoutTimeZone"] == 1)
            #expect(try await app.get("offset").json["device"]["timeZoneId"] == .null)
        }

        @Test func completeRows_areImported_whenAFileIsCutOff() async throws {
            let app = try await RegistryApp.make()
            let whole = try Self.export("airship.json")
            let result = try await ImportRun(
                whole.prefix(whole.count - 220), into: app, as: "airship.json", ["--environment", "production"])
            #expect(result.status == 1 && result.log.contains("cut off"), "\(result.log)")
            #expect(result.summary["imported"] == 2)
        }

        @Test func fileOfAnotherOrNoSystem_isRefused_whateverTheOptionSays() async throws {
            let app = try await RegistryApp.make()
            let other = try await run("pinpoint.ndjson", into: app, ["--from", "airship"])
            #expect(other.status == 1 && other.log.contains("--from pinpoint"), "\(other.log)")
            let table = try await ImportRun("name,age\nbob,5\n".utf8, into: app, as: "a.csv", ["--from", "onesignal"])
            #expect(table.status == 1 && table.log.contains("identifier and device_type"), "\(table.log)")
            let unknown = try await ImportRun(#"{"shoe":"42"}"#.utf8, into: app)
            #expect(unknown.status == 1 && unknown.log.contains("--from"), "\(unknown.log)")
            // An export without a record is known.
            let empty = try await ImportRun(#"{"Endpoints":[]}"#.utf8, into: app, as: "sns.json")
            #expect(empty.status == 1 && empty.summary["format"] == "sns" && empty.summary["read"] == 0)
            #expect(try await app.count([:]) == 0)
        }
    }
}
