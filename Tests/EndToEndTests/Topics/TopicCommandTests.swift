import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The command `topics` changes the catalogue of the API")
    struct TopicCommandTests {
        private func run(_ app: RegistryApp, _ arguments: String...) async throws -> (
            status: Int32, output: String, log: String
        ) {
            try await app.registry.run(["topics", arguments[0], app.id] + arguments.dropFirst())
        }

        @Test func topics_areSetListedAndDeleted() async throws {
            let app = try await RegistryApp.make()
            let set = try await run(app, "set", "news", "--name", "News", "--default", "in", "--category", "Daily")
            #expect(set.status == 0 && set.output == "news  News  (Daily, default in)\n", "\(set)")
            let locked = try await run(
                app, "set", "alarm", "--name", "Alarm", "--default", "in", "--locked", "--json")
            #expect(try JSON(parsing: locked.output.utf8)["locked"] == true)
            let list = try await run(app, "list", "--json")
            #expect(try JSON(parsing: list.output.utf8)["topics"].array.map { $0["topic"] } == ["alarm", "news"])
            #expect(try await app.send("GET", "/topics/news", by: .role(.client)).json["category"] == "Daily")
            _ = try await app.send("PUT", "/segments/s", ["filter": ["topic": "news"]], by: .role(.marketing))
            let refused = try await run(app, "delete", "news")
            #expect(refused.status == 64 && refused.log.contains("segment"))
            #expect(try await run(app, "delete", "alarm").output == "deleted alarm\n")
            #expect(try await run(app, "delete", "alarm", "--json").output.contains("false"))
        }

        @Test(arguments: [
            ["set", "News", "--name", "x", "--default", "in"], ["set", "a", "--name", "", "--default", "in"],
            ["set", "a", "--name", "x", "--default", "out", "--locked"],
            ["set", "a", "--name", "x", "--default", "on"],
        ])
        func invalidArguments_areReported(arguments: [String]) async throws {
            let app = try await RegistryApp.make()
            let result = try await app.registry.run(["topics", arguments[0], app.id] + arguments.dropFirst())
            #expect(result.status == 64 && result.output.isEmpty, "\(result.log)")
        }
    }
}
