import ArgumentParser
import Logging
import PushRegistry
import RegistryStore

struct AppsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps", abstract: "List and create apps, and change their policies.",
        subcommands: [List.self, Create.self, Policy.self, Move.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all apps.",
            usage: "push-registry apps list [--json] [<options>]")
        @OptionGroup var common: CommonOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let apps = try await withDirectory(common, isQuiet: json) { directory in
                try await directory.current().apps.keys.map(\.rawValue).sorted()
            }
            if json { try printJSON(["apps": apps]) } else { for app in apps { print(app) } }
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
            let isNew = try await withDirectory(common) { directory in
                guard try await directory.current().apps[id] == nil else { return false }
                return try await directory.put(id, policy: .standard).isNew
            }
            print(isNew ? "created \(id)" : "\(id) exists already")
        }
    }
}
