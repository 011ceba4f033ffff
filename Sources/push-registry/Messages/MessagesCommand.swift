import ArgumentParser
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryStore

struct MessagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "List an app's messages, and show the counts of a message.",
        discussion: """
              push-registry messages com.example.mail
              push-registry messages com.example.mail show spring-sale
            """,
        subcommands: [])

    @OptionGroup var common: CommonOptions
    @Argument(help: "The app id.") var app: String
    @Argument(help: "list (the default) or show.") var action: Action = .list
    @Argument(help: "The message to show.") var message: String?
    @Option(help: "The most messages to list, the newest first.") var limit = 20
    @Flag(help: "Print JSON.") var json = false

    enum Action: String, ExpressibleByArgument, CaseIterable {
        case list, show
    }

    func validate() throws {
        guard (1...1_000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000.") }
        if action == .show, message == nil {
            throw ValidationError("Name the message to show: push-registry messages \(app) show MESSAGE.")
        }
        if action == .list, let message { throw ValidationError("\(message) is not expected after list.") }
    }

    func run() async throws {
        let (app, limit) = (app, limit)
        switch action {
        case .list:
            let messages = try await query { store, number in
                try await store.messages(of: number, before: nil, limit: limit)
            }
            if json {
                try printJSON(["messages": messages.map(MessageLine.init)])
            } else {
                print(MessageLine.table(messages))
            }
        case .show:
            let name = message ?? ""
            let found = try await query { store, number -> (Message, Timestamp, MessageCounts)? in
                guard let known = try? MessageName(name), let message = try await store.message(known, of: number)
                else { return nil }
                let (asOf, counts) = try await store.counts(of: message.number, in: number)
                return (message, asOf, counts)
            }
            guard let (message, asOf, counts) = found else {
                throw refusal("\(app) has no message \(name). `push-registry messages \(app)` lists them.")
            }
            if json {
                try printJSON(CountedMessageJSON(message, counts, asOf: asOf))
            } else {
                print(MessageChart(message, counts, asOf: asOf).text)
            }
        }
    }

    /// Lends the app's messages in the command's database to a closure.
    private func query<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresMessageStore, AppNumber) async throws -> Value
    ) async throws -> Value {
        let settings = try await common.settings()
        let (logger, app) = (ProcessLogging.start(settings), app)
        return try await Database.withAttached(settings, isQuiet: json, logger: logger) { database in
            let number = try await database.withDirectory(logger: logger) { try await $0.current().app(app).number }
            return try await database.withMessages(logger: logger) { try await body($0, number) }
        }
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
        return try await body(PostgresMessageStore(LoopResources(postgres: client, clock: RegistryClock())))
    }
}
