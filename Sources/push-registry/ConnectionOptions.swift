import ArgumentParser

/// The flags of `ConnectionSettings`.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Reverse proxies whose X-Forwarded-For is believed, as addresses or blocks, with commas (default: none).",
            valueName: "10.0.0.0/8,…"))
    var trustedProxies: String?

    @Option(help: ArgumentHelp("The most connections at once; more wait (default: 20000).", valueName: "count"))
    var connectionsMax: String?

    @Option(
        help: ArgumentHelp(
            "The most connections of one address; more get a 503 (default: no limit).", valueName: "count"))
    var connectionsPerAddressMax: String?

    @Option(
        help: ArgumentHelp("How long a request's header may take to arrive (default: PT10S).", valueName: "duration"))
    var headDeadline: String?

    @Option(help: ArgumentHelp("How long a request's body may take to arrive (default: PT30S).", valueName: "duration"))
    var bodyDeadline: String?

    @Option(help: ArgumentHelp("How long an answer may take to begin (default: PT30S).", valueName: "duration"))
    var handlerDeadline: String?

    @Option(
        help: ArgumentHelp("How long a client may take none of its answer (default: PT30S).", valueName: "duration"))
    var writeDeadline: String?

    @Option(
        help: ArgumentHelp(
            "How long a connection may be idle; longer than a load balancer keeps it (default: PT75S).",
            valueName: "duration"))
    var idleDeadline: String?

    @Option(
        help: ArgumentHelp("How long stopping waits for requests in flight (default: PT30S).", valueName: "duration"))
    var drainDeadline: String?

    @Option(
        help: ArgumentHelp(
            "After SIGTERM, how long to serve on while /readyz returns 503 (default: PT0S).", valueName: "duration"))
    var drainDelay: String?

    @Option(
        help: ArgumentHelp(
            "Log every nth request that succeeds; others are always logged (default: 1).", valueName: "n"))
    var accessLogInterval: String?

    /// The settings by their names in the file.
    var flags: [String: String?] {
        [
            "trustedProxies": trustedProxies, "connectionsMax": connectionsMax,
            "connectionsPerAddressMax": connectionsPerAddressMax, "headDeadline": headDeadline,
            "bodyDeadline": bodyDeadline, "handlerDeadline": handlerDeadline, "writeDeadline": writeDeadline,
            "idleDeadline": idleDeadline, "drainDeadline": drainDeadline, "drainDelay": drainDelay,
            "accessLogInterval": accessLogInterval,
        ]
    }
}
