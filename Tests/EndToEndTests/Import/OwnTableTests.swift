import EmbeddedPostgres
import RegistryTestSupport
import Testing

extension EndToEnd {
    /// Runs the command of the page "Moving from a table of your own" with the table of the page.
    @Suite("A table of somebody's own is imported as its page says")
    struct OwnTableTests {
        /// - Returns: the command without its first three words and its app, and the lines of the table.
        private func sample() throws -> (arguments: [String], table: String) {
            let text = try documentationPage("MovingIn/MovingFromYourOwnTable")
            let table = try #require(text.firstMatch(of: /```csv\n([^`]*)```/)?.1)
            let command = try #require(text.firstMatch(of: /```sh\n([^`]*)```/)?.1)
            let words = command.replacing("\\\n", with: " ").split(whereSeparator: \.isWhitespace).map(String.init)
            try #require(words.prefix(4) == ["push-registry", "import", "devices.csv", "--app"])
            return (Array(words.dropFirst(5)), String(table))
        }

        @Test func command_importsTheTable() async throws {
            let (arguments, table) = try sample()
            let app = try await RegistryApp.make()
            let preview = try await ImportRun(table.utf8, into: app, as: "devices.csv", arguments)
            #expect(preview.counts == [4, 4, 0, 0, 0] && preview.status == 0, "\(preview.log)")
            #expect(try await app.count([:]) == 0)
            let run = try await ImportRun(
                table.utf8, into: app, as: "devices.csv", arguments.filter { $0 != "--dry-run" })
            #expect(run.counts == [4, 4, 0, 0, 0] && run.log.contains("ignored: shoe_size\n"), "\(run.log)")
            let notUnderstood: JSON = ["authorizationStatus": ["sometimes": 1], "timeZone": ["Middle Earth": 1]]
            #expect(run.summary["notUnderstood"] == notUnderstood)
            // Two users allow pushes.
            #expect(try await app.count([:]) == 2)
            #expect(preview.summary["forecast"]["reachable"] == ["apns": 1, "fcm": 1])
            let phone = try await app.get("d-2").json
            #expect(phone["provider"] == "apns" && phone["userId"] == .null)
            #expect(phone["lastSeenAt"] == "2026-11-19T00:00:00Z" && phone["device"]["locale"] == "en_US")
            let android = try await app.get("d-1").json
            #expect(android["userId"] == "42" && android["createdAt"] == "2025-01-02T03:04:05Z")
            #expect(try await app.get("d-3").json["device"]["locale"] == "he_IL")
            let last = try await app.get("d-4").json
            #expect(last["reachable"] == false && last["lastSeenAt"] == "2026-10-01T00:00:00Z")
            #expect(last["device"]["timeZoneId"] == .null)
        }

        @Test func provider_isGivenByTheCommand_ifTheTableHasNone() async throws {
            let app = try await RegistryApp.make()
            let table = "installId,token\n1,fcm-token\n"
            let run = try await ImportRun(table.utf8, into: app, as: "a.csv", ["--provider", "fcm"])
            #expect(run.counts == [1, 1, 0, 0, 0], "\(run.rejectsText)")
            for arguments in [["--provider", "pigeon"], ["--provider", "fcm", "--from", "onesignal"]] {
                let file = "identifier,device_type\nt,1\n"
                #expect(try await ImportRun(file.utf8, into: app, as: "b.csv", arguments).status == 64)
            }
        }
    }
}
