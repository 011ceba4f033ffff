import Foundation
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An import reports invalid lines and imports the others")
    struct ImportFaultTests {
        /// The imported file is never written: not by its name, a link or a redirection.
        @Test func rejects_neverTouchTheInput() async throws {
            let app = try await RegistryApp.make()
            let folder = FileManager.default.temporaryDirectory.appending(path: "rejects-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let text = "{\"installId\":\"phone\"}\n"
            let file = folder.appending(path: "fleet.ndjson")
            try Data(text.utf8).write(to: file)
            try FileManager.default.createSymbolicLink(
                at: folder.appending(path: "link"), withDestinationURL: file)
            try FileManager.default.linkItem(at: file, to: folder.appending(path: "hard"))
            for (name, more) in [("fleet.ndjson", []), ("link", []), ("hard", ["--dry-run"])] {
                let result = try await app.registry.run(
                    ["import", "fleet.ndjson", "--app", app.id, "--rejects", name] + more, in: folder.path)
                #expect(result.status == 1 && result.log.contains("--rejects"), "\(result.log)")
                #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(name)")
            }
        }

        @Test func dryRun_keepsAnOlderReport_unlessItRejectsLines() async throws {
            let app = try await RegistryApp.make()
            let older = #"{"line":7,"code":"older","reason":"older"}"#
            let kept = try await ImportRun(good.utf8, into: app, ["--dry-run"], olderRejects: older)
            #expect(kept.counts == [1, 1, 0, 0, 0] && kept.rejectsText == older)
            let replaced = try await ImportRun("{}".utf8, into: app, ["--dry-run"], olderRejects: older)
            #expect(replaced.rejects.map(place) == ["1 installId required", "1 token required"])
            #expect(try await ImportRun(good.utf8, into: app, olderRejects: older).rejectsText.isEmpty)
        }

        /// They would become the main tokens of their installations.
        @Test(arguments: ["ndjson", "csv"]) func exportOfTypedTokens_isRefused(format: String) async throws {
            let (from, app) = (try await RegistryApp.make(), try await RegistryApp.make())
            var phone = SampleRegistration.make("phone")
            phone["tokens"] = [["kind": "voip", "token": .string(SampleRegistration.token("voip"))]]
            #expect(try await from.put("phone", phone).status == 201)
            let named: [JSON?] = [nil] + ["environment", "name", "expiresAt"].map { ["installId", "token", $0] }
            for fields in named {
                var body: JSON = ["filter": [:], "kind": "voip", "format": .string(format)]
                if let fields { body["fields"] = fields }
                let export = try await from.ask("export", body)
                #expect(export.status == 200 && export.text.contains("phone"), "\(export.text)")
                for arguments in [[], ["--dry-run"]] {
                    let run = try await ImportRun(export.body, into: app, as: "voip.\(format)", arguments)
                    #expect(run.status == 1 && run.log.contains("voip.\(format) is an export of typed"), "\(run.log)")
                    #expect(run.summary == .null && run.rejectsText.isEmpty)
                }
            }
            #expect(try await app.count([:], include: "all") == 0)
            let own = "installId,provider,token,name\nphone,fcm,t,My phone\n"
            let run = try await ImportRun(own.utf8, into: app, as: "own.csv", ["--map", "installId=installId"])
            #expect(run.counts == [1, 1, 0, 0, 0], "\(run.log)")
        }

        private let good = #"{"installId":"good","provider":"fcm","token":"fcm-token"}"#

        private func place(_ reject: JSON) -> String {
            "\(reject["line"].integer ?? 0) \(reject["field"].string ?? "-") \(reject["code"].string ?? "")"
        }

        @Test func invalidLines_areReportedByLineAndField_withoutTheToken() async throws {
            let app = try await RegistryApp.make()
            let secret = "not-a-hexadecimal-secret-0123456789-0123456789"
            let long = String(repeating: "c", count: 257)
            let run = try await ImportRun(
                """
                {"installId":"a","provider":"apns","token":"\(secret)","locale":7}
                {"installId":"a b","provider":"fcm","token":"\(secret)","carrier":"\(long)"}

                {"installId":"c","provider":"carrierPigeon","token":"\(secret)"}
                \(secret)
                \(good)
                {"provider":"webPush","token":"https://push.example.com/\(secret)","utcOffset":99999999,\
                "createdAt":"yesterday"}
                {"installId":"d","installId":"e","token":"\(secret)"}
                {"\(secret)":1,"\(secret)":2}
                """.utf8, into: app)
            #expect(run.status == 2)
            #expect(run.counts == [8, 1, 0, 0, 7])
            #expect(
                run.rejects.map(place) == [
                    "1 token invalid-token", "2 installId invalid-install-id",
                    "4 provider unknown-provider", "5 - malformed-json",
                    "7 installId required", "7 p256dh required", "7 auth required", "8 installId duplicate-member",
                    "9 - duplicate-member",
                ])
            #expect(!(run.rejectsText + run.log).contains(secret))
            #expect(try await app.get("good").status == 200)
        }

        @Test func hugeLines_andLinesThatAreNotUTF8_affectNoOtherLine() async throws {
            let app = try await RegistryApp.make()
            let huge = #"{"installId":"huge","token":""# + String(repeating: "a", count: 3_000_000) + #""}"#
            let content = Array("\(huge)\n".utf8) + [0x7B, 0xFF, 0x7D, 0x0A] + Array("\(good)\n\(huge)".utf8)
            let run = try await ImportRun(content, into: app)
            #expect(run.counts == [4, 1, 0, 0, 3])
            #expect(run.rejects.map(place) == ["1 - too-long", "2 - malformed-json", "4 - too-long"])
        }

        @Test func csv_isReadByItsHeader_withColumnsMapped() async throws {
            let app = try await RegistryApp.make()
            let run = try await ImportRun(
                [0xEF, 0xBB, 0xBF]
                    + Array(
                        """
                        device,push token,provider,carrier,appVersion,shoe size\r
                        one,t1,fcm,"A, ""B""\r
                        C","",42\r
                        two,t2,fcm,,,\r
                        three,t3"x,fcm,,,\r
                        four,t4,fcm\r
                        "five",t5,fcm,D,2,1
                        six,"t6,fcm,,,
                        """.utf8), into: app, as: "fleet.csv",
                ["--map", "device=installId", "--map", "push token=token"])
            #expect(run.counts == [6, 3, 0, 0, 3])
            #expect(run.rejects.map(place) == ["5 - malformed-csv", "6 - wrong-columns", "8 - malformed-csv"])
            #expect(run.log.contains("ignored: shoe size\n"))
            let one = try await app.get("one").json["device"]
            #expect(one["carrier"] == "A, \"B\"\r\nC")
            #expect(one["appVersion"] == "")
            let two = try await app.get("two").json["device"]
            #expect(two["carrier"] == .null)
            #expect(two["appVersion"] == .null)
        }

        @Test func csvWithoutAHeader_isRefused_withoutShowingItsTokens() async throws {
            let app = try await RegistryApp.make()
            let run = try await ImportRun("one,very-secret,fcm\r\n".utf8, into: app, as: "fleet.csv")
            #expect(run.status == 1)
            #expect(run.log.contains("header"))
            #expect(!run.log.contains("very-secret"))
        }

        /// Nothing of the fourth file's only line is printed: its lines end with a carriage return alone.
        @Test func fileWithoutARecord_endsWithAnError_thatNamesIt() async throws {
            let app = try await RegistryApp.make()
            for (name, text, word) in [
                ("fleet.json", "[]", "fleet.json: no record"),
                ("fleet.csv", "installId,token,provider\r\n", "fleet.csv: no record"),
                ("fleet.ndjson", "", "fleet.ndjson: no record"),
                ("fleet.csv", "installId,token,provider\ra1,very-secret,fcm\ra2,very-secret,fcm\r", "carriage return"),
                (
                    "azure.xml",
                    "<feed><entry><content><RegistrationKind>x</RegistrationKind></content></entry></feed>",
                    "azure.xml: no record"
                ),
                ("fleet.csv", String(repeating: "\n", count: 70_000) + good, "fleet.csv: no record"),
            ] {
                let run = try await ImportRun(text.utf8, into: app, as: name)
                #expect(run.status == 1 && run.log.contains(word), "\(run.log)")
                #expect(!run.log.contains("very-secret"))
            }
        }

        @Test func import_reportsInvalidArguments() async throws {
            let app = try await RegistryApp.make()
            for (name, arguments, word) in [
                ("fleet.xml", [], "empty"), ("fleet.csv", ["--map", "a=b"], "--map"),
                ("fleet.csv", ["--app", "com.example.none"], "com.example.none"),
            ] {
                let run = try await ImportRun("".utf8, into: app, as: name, arguments)
                #expect(run.status == 64)
                #expect(run.log.contains(word), "\(run.log)")
            }
        }
    }
}
