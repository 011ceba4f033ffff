import ArgumentParser
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryAPI
import RegistryStore
import StrictJSON

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
                print(MessageTable(message, counts, asOf: asOf).text)
            }
        }
    }
}

/// Lends the messages of an app in the command's database to a closure.
private func withMessages<Value: Sendable>(
    of app: String, _ options: CommonOptions, isQuiet: Bool,
    _ body: @escaping @Sendable (PostgresMessageStore, AppNumber) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings()
    let logger = ProcessLogging.start(settings)
    return try await Database.withAttached(settings, isQuiet: isQuiet, logger: logger) { database in
        let number = try await database.withDirectory(logger: logger) { try await $0.current().app(app).number }
        return try await database.withMessages(logger: logger) { try await body($0, number) }
    }
}

extension Database {
    /// Lends the messages of a migrated database to a closure, for reading.
    fileprivate func withMessages<Value: Sendable>(
        logger: Logger, _ body: (PostgresMessageStore) async throws -> Value
    ) async throws -> Value {
        let loop = EventLoop(name: "messages")
        defer { loop.stop() }
        let client = PostgresClient(
            try configuration, on: loop, limits: .init(connectionsMin: 0, connectionsMax: 1), logger: logger)
        // Cancelled at the end of this scope.
        async let _ = client.run()
        return try await body(PostgresMessageStore(LoopResources(postgres: client)))
    }
}

/// The counts of a message as a table in text.
struct MessageTable {
    private let message: Message
    private let counts: MessageCounts
    private let asOf: Timestamp

    init(_ message: Message, _ counts: MessageCounts, asOf: Timestamp) {
        (self.message, self.counts, self.asOf) = (message, counts, asOf)
    }

    var text: String {
        let title = message.content.title.map { "  \($0)" } ?? ""
        let rows = [
            ("targeted", counts.targeted), ("accepted", counts.accepted), ("failed", counts.failed),
            ("delivered", counts.delivered), ("opened", counts.opened), ("dismissed", counts.dismissed),
        ].map { name, count in [name, "\(count)", share(count)] }
        return """
            \(message.name)\(title)
            created \(message.createdAt), expires \(message.expiresAt)

            \(TextTable(header: ["what", "count", "of targeted"], rows: rows).text)

            as of \(asOf)
            """
    }

    private func share(_ count: Int64) -> String {
        guard counts.targeted > 0 else { return "" }
        let permille = Int((Double(count) / Double(counts.targeted) * 1_000).rounded())
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
