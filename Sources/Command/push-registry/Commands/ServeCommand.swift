import ArgumentParser
import Glibc
import HTTPServer
import Logging

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the service.",
        discussion: """
            Without --database-url, it creates a private PostgreSQL in --data-dir, starts it and stops it at the end. \
            If you are root, PostgreSQL runs as an unprivileged user. Missing migrations are applied first.

            The admin key comes from PUSH_REGISTRY_ADMIN_KEY or the settings file, not from a flag, which every user \
            of the machine could read. With the embedded PostgreSQL, a key is generated on first start and printed once.

            Listening sockets from systemd (LISTEN_FDS) replace --listen.

            SIGTERM or Ctrl-C finishes the requests in progress and stops; a second signal stops at once.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var serving: ServingOptions

    @Flag(
        help: """
            Create two demo apps, one with 20,000 installations, and print curl commands and a link to the console. \
            Not for production.
            """)
    var demo = false

    func run() async throws {
        // If the reader of the log goes away, a write must fail instead of raising a signal that ends the service.
        signal(SIGPIPE, SIG_IGN)
        let inheritedSockets = try InheritedSocket.adoptAll()
        let settings = try await common.settings(serving.texts)
        let logger = ProcessLogging.start(settings)
        for warning in settings.warnings { logger.warning("\(warning)") }
        let server = RegistryServer(settings, inheritedSockets: inheritedSockets, logger: logger)
        try await server.run(demo: demo)
    }
}
