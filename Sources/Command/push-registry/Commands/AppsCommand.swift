import ArgumentParser
import Logging
import PushRegistry
import RegistryStore

struct AppsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps", abstract: "List, create and delete apps, and change their policies.",
        subcommands: [List.self, Create.self, Policy.self, Delete.self, Move.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all apps.",
            usage: "push-registry apps list [--json] [<options>]")
        @OptionGroup var common: CommonOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let directory = try await withDirectory(common, isQuiet: json) { try await $0.current() }
            let apps = directory.apps.keys.map(\.rawValue)
            let unusable = directory.unusable.values.map { Unusable(app: $0.id.rawValue, reason: $0.reason) }
            if json {
                return try printJSON(Listing(apps: apps.sorted(), unusable: unusable.sorted { $0.app < $1.app }))
            }
            let lines = apps + unusable.map { "\($0.app): the stored policy cannot be used: \($0.reason)" }
            for line in lines.sorted() { printLine(line) }
        }

        private struct Listing: Encodable {
            let apps: [String]
            let unusable: [Unusable]
        }

        /// An app whose stored policy this version cannot use.
        private struct Unusable: Encodable {
            let app: String
            let reason: String
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an app with the default policy.",
            usage: "push-registry apps create <app> [<options>]",
            discussion: "`apps policy set` changes its policy. An existing app is not changed.")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id, such as com.example.mail.") var app: String

        func run() async throws {
            let id = try app.asAppID()
            let entry = AuditEntry.ofCommand(.appCreated, id.rawValue)
            let isNew = try await withDirectory(common) { try await $0.createIfMissing(id, recording: entry) }
            if isNew { entry.log(of: id) }
            print(isNew ? "created \(id)" : "\(id) exists already")
        }
    }
}
