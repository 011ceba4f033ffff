import Foundation
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The segment command returns what the API returns")
    struct SegmentCommandTests {
        private func run(_ app: RegistryApp, _ arguments: String...) async throws -> (
            status: Int32, output: String, log: String
        ) {
            try await app.registry.run(["segment", arguments[0], "--app", app.id] + arguments.dropFirst())
        }

        private func app() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            try await app.register([
                ("a", [:]), ("b", ["locale": "fr_FR", "carrier": nil]), ("c", ["locale": "fr_CA"]),
            ])
            _ = try await app.send("PUT", "/segments/french", ["filter": ["locale": "fr"]], by: .role(.marketing))
            return app
        }

        @Test func count_takesFiltersFilesAndSegments() async throws {
            let app = try await app()
            #expect(try await run(app, "count", "--filter", #"{"locale":"de"}"#).output.hasPrefix("1 as of "))
            #expect(try await run(app, "count", "--segment", "french").output.hasPrefix("2 as of "))
            let file = FileManager.default.temporaryDirectory.appending(path: "filter-\(UUID().uuidString).json")
            try Data(#"{"carrier": {"exists": false}}"#.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let both = try await run(app, "count", "--segment", "french", "--filter", "@\(file.path)", "--json")
            let response = try JSON(parsing: Array(both.output.utf8))
            #expect(response["count"] == 1 && response["asOf"].string != nil)
            #expect(response["explain"]["path"].string != nil)
        }

        @Test func breakdown_isATable_orJSON() async throws {
            let app = try await app()
            let table = try await run(
                app, "breakdown", "--filter", "{}", "--by", "carrier", "--by", "locale", "--limit", "2")
            let lines = table.output.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines[0] == "carrier  locale  count" && lines[1] == "Example  de_DE       1", "\(table)")
            #expect(lines[3] == "1 more               1" && lines[5].hasPrefix("3 as of "), "\(table)")
            let json = try await run(app, "breakdown", "--segment", "french", "--by", "locale", "--json")
            let response = try JSON(parsing: Array(json.output.utf8))
            #expect(response["total"] == 2 && response["groups"].array.count == 2)
            #expect(response["groups"][0]["locale"].string != nil && response["rest"]["groups"] == 0)
        }

        @Test func export_writesLines_andContinuesAfterACursor() async throws {
            let app = try await app()
            let all = try await run(app, "export", "--filter", "{}")
            let lines = try all.output.split(separator: "\n").map { try JSON(parsing: Array($0.utf8)) }
            #expect(
                lines.map { $0["installId"] } == ["a", "b", "c"]
                    && lines[0]["token"].string == SampleRegistration.token("a"))
            let cursor = try #require(lines[1]["cursor"].string)
            let rest = try await run(
                app, "export", "--filter", "{}", "--after", cursor, "--format", "csv", "--fields", "installId,locale")
            #expect(rest.output == "installId,locale\r\nc,fr_CA\r\n")
        }

        @Test(arguments: [
            (["count", "--filter", #"{"locale":{}}"#], "/filter/locale"), (["count", "--filter", "{"], "filter"),
            (["count", "--segment", "none"], "none"), (["count"], "--segment"),
            (["count", "--filter", "@/nonexistent"], "/nonexistent"),
            (["count", "--filter", "{}", "--include", "some"], "some"),
            (["breakdown", "--filter", "{}", "--by", "userId"], "locale"),
            (["export", "--filter", "{}", "--fields", "colour"], "installId"),
            (["export", "--filter", "{}", "--after", "x"], "cursor"),
            (["export", "--filter", "{}", "--format", "xml"], "xml"),
        ])
        func invalidArguments_areReported(arguments: [String], word: String) async throws {
            let app = try await RegistryApp.make()
            let result = try await app.registry.run(["segment"] + arguments + ["--app", app.id])
            #expect(result.status == 64 && result.log.contains(word) && result.output.isEmpty, "\(result.log)")
        }
    }
}
