import ArgumentParser
import Glibc
import HTTPServer
import Logging

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the service.",
        discussion: """
            Without --database-url it creates and runs a private PostgreSQL in --data-dir and stops it at the end; as \
            root, PostgreSQL runs as an unprivileged user. The schema is brought up to date first.

            The admin key is taken from PUSH_REGISTRY_ADMIN_KEY or the file, not from a flag, which every user of the \
            machine could read. With the embedded PostgreSQL, a key is generated on first start and printed once.

            Listening sockets that systemd or the like passes (LISTEN_FDS) are served instead of --listen.

            SIGTERM or Ctrl-C finishes what is in flight and ends; a second one ends at once.
            """)

    @OptionGroup var common: CommonOptions

    @OptionGroup var serving: ServingOptions
    @OptionGroup(title: "Connections") var connections: ConnectionOptions
    @OptionGroup(title: "Sizes") var sizes: SizeOptions
    @OptionGroup(title: "Audiences") var audiences: AudienceOptions
    @OptionGroup(title: "Key sets") var keySets: KeySetOptions

    @Flag(help: "Create the app com.example.demo with a key and print curl lines to try. For trying out only.")
    var demo = false

    func run() async throws {
        // Who reads the log may go away: writing then fails, where the signal would end the service.
        signal(SIGPIPE, SIG_IGN)
        let inheritedSockets = try InheritedSocket.takeAll()
        let groups = [connections.flags, sizes.flags, audiences.flags, keySets.flags]
        let settings = try await common.settings(
            groups.reduce(serving.flags) { flags, more in flags.merging(more) { own, _ in own } })
        let logger = ProcessLogging.start(settings)
        for warning in settings.warnings { logger.warning("\(warning)") }
        let server = RegistryServer(settings, inheritedSockets: inheritedSockets, logger: logger)
        try await server.run(demo: demo)
    }
}

/// The flags of `serve` that are in no other group.
struct ServingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where to listen (default: 127.0.0.1:8080).", valueName: "host:port"))
    var listen: String?

    @Option(help: ArgumentHelp("How many event loops to run (default: one per core).", valueName: "count"))
    var eventLoops: String?

    @Option(help: ArgumentHelp("Certificate chain for TLS, PEM; read again on SIGHUP.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The certificate's key, PEM.", valueName: "file"))
    var tlsKey: String?

    /// The settings by their names in the file.
    var flags: [String: String?] {
        ["listen": listen, "eventLoops": eventLoops, "tlsCert": tlsCert, "tlsKey": tlsKey]
    }
}
