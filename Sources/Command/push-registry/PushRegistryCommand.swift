import ArgumentParser

@main
struct PushRegistryCommand: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "push-registry",
        abstract: "A registry of push tokens behind a REST API.",
        discussion: """
            For every installation of an app, it stores the push token, the user, the device and the notification \
            settings.

            Start with:
              push-registry serve --demo

            It starts an embedded PostgreSQL, creates demo apps and a key, and prints curl commands to try.

            Settings come from flags, environment variables (PUSH_REGISTRY_DATABASE_URL for --database-url) and a JSON \
            file ({"databaseUrl": "…"}, --config), in this order of precedence. `push-registry config` prints all of \
            them. Options such as --json, --dry-run and --demo are only flags.
            """,
        version: version,
        subcommands: [
            ServeCommand.self, MigrateCommand.self, VerifyCommand.self, RebuildRollUpCommand.self, CleanUpCommand.self,
            ImportCommand.self, AppsCommand.self, KeysCommand.self, TopicsCommand.self, SegmentCommand.self,
            MessagesCommand.self, FeedbackCommand.self, AuditCommand.self, DistributeCommand.self, ConfigCommand.self,
            HealthCheckCommand.self,
        ])

    /// Prints the usage with errors of the command line only: with an error of a setting or a file it would not help.
    static func main() async {
        do {
            var command = try parseAsRoot()
            do {
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
            } catch let error as ExitCode {
                throw error
            } catch let error where error is ValidationError || exitCode(for: error) == .failure {
                throw refusal(message(for: error), exitCode(for: error))
            }
        } catch {
            exit(withError: error)
        }
    }
}
