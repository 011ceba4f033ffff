import ArgumentParser
import Logging
import PushRegistry
import RegistryJobs
import RegistryStore

extension AppsCommand {
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move an app to another node of a Citus cluster.",
            usage: "push-registry apps move <app> [<node>] [--json] [<options>]",
            discussion: """
                If the app shares its shards with other apps, it first gets shards of its own. Then the command copies \
                the shards to the node. The app is served meanwhile; its writes wait for some seconds at the end of \
                each step. Run the command again if it was interrupted. Without a node, it prints where the app is.

                  push-registry apps move com.example.mail worker-2:5432
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: ArgumentHelp("The node, as `distribute --dry-run` prints it.", valueName: "node")) var node:
            String?
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let settings = try await common.settings()
            let logger = ProcessLogging.start(settings)
            let location = try await Database.withAttached(settings, isQuiet: json, logger: logger) { database in
                let found = try await database.withDirectory(logger: logger) { try await $0.current().app(app) }
                do {
                    return try await move(found.number, Distribution(try database.configuration))
                } catch let error as DistributionError {
                    throw refusal("\(error)")
                }
            }
            if json {
                try printJSON(location)
            } else {
                print("\(app) is on \(location.node), in shard \(location.shard)")
            }
        }

        private func move(_ app: AppNumber, _ distribution: Distribution) async throws -> Distribution.Location {
            guard let node else { return try await distribution.location(of: app) }
            return try await distribution.move(app, to: node) { [json] step in if !json { print(step) } }
        }
    }
}
