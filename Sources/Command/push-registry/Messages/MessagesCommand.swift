import ArgumentParser
import PushRegistry
import RegistryAPI
import RegistryStore
import StrictJSON
import Telemetry

struct MessagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "List an app's messages, and show the counts of a message.",
        subcommands: [List.self, Show.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List an app's messages, the newest first.",
            usage: "push-registry messages list <app> [--limit <limit>] [--json] [<options>]")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Option(help: "The most messages to list, 1 to 1000.") var limit = 20
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            guard (1...1_000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000.") }
        }

        func run() async throws {
            let limit = limit
            let messages = try await withMessages(of: app, common, isQuiet: json) { store, app in
                try await store.messages(of: app, before: nil, limit: limit)
            }
            if json {
                try printJSON(listing: "messages", messages) { $0.about($1) }
            } else {
                print(TextTable(messages).text)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a message's counts as a table.",
            usage: "push-registry messages show <app> <message> [--json] [<options>]",
            discussion: """
                The documentation page Messages explains the counts.

                  push-registry messages show com.example.mail spring-sale
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: "The message, see `messages list`.") var message: String
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let name = message
            let found = try await withMessages(of: app, common, isQuiet: json) {
                store, app -> (Message, Timestamp, MessageCounts)? in
                guard let known = try? MessageName(name), let message = try await store.message(known, of: app)
                else { return nil }
                let (asOf, counts) = try await store.counts(of: message.number, in: app)
                return (message, asOf, counts)
            }
            guard let (message, asOf, counts) = found else {
                throw refusal("\(app) has no message \(name). `push-registry messages list \(app)` lists them.")
            }
            if json {
                try printJSON { writer in
                    writer.about(message)
                    writer.members(counts)
                    writer.member("asOf", asOf.description)
                }
            } else {
                print(message.text(counts, asOf: asOf))
            }
        }
    }
}

/// Lends the messages of an app in the command's database to a closure.
private func withMessages<Value: Sendable>(
    of app: String, _ options: CommonOptions, isQuiet: Bool,
    _ body: (PostgresMessageStore, AppNumber) async throws -> Value
) async throws -> Value {
    try await withDirectory(options, isQuiet: isQuiet) { directory in
        try await body(PostgresMessageStore(directory.resources), directory.current().app(app).number)
    }
}

extension Message {
    /// A table of the message's counts.
    func text(_ counts: MessageCounts, asOf: Timestamp) -> String {
        let title = content.title.map { "  \($0.escapedForTerminal)" } ?? ""
        let rows = [
            ("targeted", counts.targeted), ("accepted", counts.accepted), ("failed", counts.failed),
            ("delivered", counts.delivered), ("opened", counts.opened), ("dismissed", counts.dismissed),
        ].map { name, count in [name, "\(count)", count.share(of: counts.targeted)] }
        return """
            \(name)\(title)
            created \(createdAt), expires \(expiresAt)

            \(TextTable(header: ["what", "count", "of targeted"], rows: rows).text)

            as of \(asOf)
            """
    }

}

extension Int64 {
    fileprivate func share(of all: Int64) -> String {
        guard all > 0 else { return "" }
        let permille = Int((Double(self) / Double(all) * 1_000).rounded())
        return "\(permille / 10).\(permille % 10) %"
    }
}

extension TextTable {
    init(_ messages: [Message]) {
        self.init(
            header: ["message", "title", "created", "expires"],
            rows: messages.map { message in
                [
                    message.name.rawValue, message.content.title ?? "", message.createdAt.description,
                    message.expiresAt.description,
                ]
            })
    }
}
