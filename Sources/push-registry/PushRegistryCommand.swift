import ArgumentParser

@main
struct PushRegistryCommand: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "push-registry",
        abstract: "A registry of push tokens behind a REST API.",
        discussion: """
            It knows, for every installation of an app, which push token reaches it, whose it is, what the device \
            looks like and what the user allows.

            Start with:
              push-registry serve --demo     an embedded PostgreSQL, a demo app with a key, and curl lines to try

            A setting is a flag, an environment variable (--database-url is PUSH_REGISTRY_DATABASE_URL) or a member of \
            the JSON file that --config names ({"databaseUrl": "…"}), in this order of precedence. `push-registry \
            config` prints all of them. Options such as --json, --dry-run and --demo are flags alone.
            """,
        version: version,
        subcommands: [
            Serve.self, Migrate.self, Verify.self, RebuildRollUp.self, CleanUpCommand.self, Import.self, Apps.self,
            Keys.self, Segment.self, ConfigCommand.self, SQLCommand.self, HealthCheckCommand.self,
        ])
}
