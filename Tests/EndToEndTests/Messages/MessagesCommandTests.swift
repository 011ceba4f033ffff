import Foundation
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The command `messages` lists messages and draws their counts")
    struct MessagesCommandTests {
        private func run(
            _ app: RegistryApp, _ action: String, _ arguments: [String] = []
        ) async throws -> (status: Int32, output: String, log: String) {
            try await app.registry.run(["messages", action, app.id] + arguments)
        }

        @Test func counts_areShown_asATableAndAsJSON() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b", "c", "d"] { _ = try await app.put(name) }
            try await app.putMessage("sale", ["title": "Spring sale", "labels": ["team": "growth"]])
            let receipts = try await app.receipts(of: "sale")
            for name in ["a", "b", "c"] { #expect(try await app.report("delivered", receipts[name]) == "accepted") }
            #expect(try await app.report("opened", receipts["a"]) == "accepted")

            let table = try await run(app, "show", ["sale"])
            #expect(table.status == 0 && table.output.hasPrefix("sale  Spring sale\n"))
            let lines = table.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            #expect(lines.contains("targeted 4 100.0 %") && lines.contains("delivered 3 75.0 %"))
            #expect(lines.contains("opened 1 25.0 %") && lines.contains("dismissed 0 0.0 %"))

            let json = try JSON(parsing: try await run(app, "show", ["sale", "--json"]).output.utf8)
            #expect(MessageNumbers(json) == MessageNumbers(targeted: 4, delivered: 3, opened: 1))
            #expect(json["labels"] == ["team": "growth"])

            let list = try await run(app, "list")
            #expect(list.status == 0 && list.output.contains("sale") && list.output.contains("Spring sale"))
        }

        @Test func message_isRefused_whenItIsUnknown() async throws {
            let app = try await RegistryApp.make()
            #expect(try await run(app, "show", ["none"]).status == 64)
            #expect(try await run(app, "show").status == 64)
        }
    }
}
