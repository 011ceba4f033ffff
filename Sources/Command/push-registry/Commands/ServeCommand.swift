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
    @OptionGroup(title: "Connections") var connections: ConnectionOptions
    @OptionGroup(title: "Sizes") var sizes: SizeOptions
    @OptionGroup(title: "Limits of an address") var addressLimits: AddressLimitOptions
    @OptionGroup(title: "Audiences") var audiences: AudienceOptions
    @OptionGroup(title: "Key sets") var keySets: KeySetOptions

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
        let groups = [connections.flags, sizes.flags, addressLimits.flags, audiences.flags, keySets.flags]
        let settings = try await common.settings(
            groups.reduce(serving.flags) { flags, more in flags.merging(more) { own, _ in own } })
        let logger = ProcessLogging.start(settings)
        for warning in settings.warnings { logger.warning("\(warning)") }
        let server = RegistryServer(settings, inheritedSockets: inheritedSockets, logger: logger)
        try await server.run(demo: demo)
    }
}

/// The flags of `serve` outside of the other groups.
struct ServingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The address to listen on (default: 127.0.0.1:8080).", valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp("The number of event loops (default: one per processor, at most 16).", valueName: "count"))
    var eventLoops: String?

    @Option(help: ArgumentHelp("The certificate chain for TLS, PEM; reloaded on SIGHUP.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The certificate's key, PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "The address at which browsers see /console/, if a proxy ends TLS (default: the service's own).",
            valueName: "https://host"))
    var consoleOrigin: String?

    /// The values by setting name.
    var flags: [String: String?] {
        [
            "listen": listen, "eventLoops": eventLoops, "tlsCert": tlsCert, "tlsKey": tlsKey,
            "consoleOrigin": consoleOrigin,
        ]
    }
}
