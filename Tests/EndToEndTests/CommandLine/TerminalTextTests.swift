import EmbeddedPostgres
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Texts of others begin no line of a command's output, and do not control the terminal")
    struct TerminalTextTests {
        /// Begins a line, erases the screen in two ways, turns the text around, and begins a paragraph.
        private static let hostile = "x\n2026-11-28T10:00:00Z  admin  forged\u{1B}[2J\u{9B}2J\u{202E}\u{2029}\u{7F}"
        private static let escaped =
            #"x\n2026-11-28T10:00:00Z  admin  forged\u{1b}[2J\u{9b}2J\u{202e}\u{2029}\u{7f}"#

        @Test func lists_haveALineForEachItem_withoutControlCharacters() async throws {
            let app = try await RegistryApp.make()
            let hostile = JSON.string(Self.hostile)
            let key = try await app.send("POST", "/keys", ["name": hostile, "roles": ["admin"]], by: .role(.admin))
            let forger = RegistryApp.Credential.text(try #require(key.json["key"].string))
            let topic: JSON = ["name": hostile, "description": hostile, "category": hostile, "default": "in"]
            #expect(try await app.send("PUT", "/topics/news", topic, by: forger).status == 201)
            _ = try await app.putMessage("sale", ["title": hostile])
            var phone = SampleRegistration.make("phone")
            phone["device"]["carrier"] = hostile
            #expect(try await app.put("phone", phone).status == 201)
            let audience = ["--app", app.id, "--filter", "{}", "--include", "all"]
            for (arguments, lines) in [
                (["audit", app.id], 9), (["keys", "list", app.id], 7), (["topics", "list", app.id], 1),
                (["messages", "list", app.id], 2), (["messages", "show", app.id, "sale"], 12),
                (["segment", "breakdown", "--by", "carrier"] + audience, 4),
            ] {
                let result = try await app.registry.run(arguments)
                #expect(result.status == 0, "\(result.log)")
                #expect(result.output.split(separator: "\n", omittingEmptySubsequences: false).count == lines + 1)
                #expect(result.output.contains(Self.escaped), "\(arguments): \(result.output)")
                #expect(result.output.unicodeScalars.allSatisfy { $0 == "\n" || (0x20..<0x7F).contains($0.value) })
            }
            let json = try await app.registry.run(["topics", "list", app.id, "--json"])
            #expect(try JSON(parsing: json.output.utf8)["topics"][0]["name"] == hostile)
        }

        @Test func errors_areEscaped_ofRefusalsAndOfFailures() async throws {
            let app = try await RegistryApp.make()
            let refused = try await app.registry.run(["messages", "show", app.id, "a\u{1B}[2J"])
            #expect(refused.status == 64 && refused.log.contains(#"has no message a\u{1b}[2J."#), "\(refused.log)")
            let failed = try await ImportRun("{\"a\":1}\n".utf8, into: app, as: "a\u{1B}[2J.ndjson")
            #expect(failed.status == 1 && failed.log.contains(#"Error: a\u{1b}[2J.ndjson is"#), "\(failed.log)")
            for log in [refused.log, failed.log] { #expect(!log.contains("\u{1B}") && !log.contains("Usage")) }
        }
    }
}
