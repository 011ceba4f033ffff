import ArgumentParser
import Basics
import HTTPServer

/// The limits and deadlines of client connections; nil for the default.
struct ConnectionSettings: Sendable {
    var trustedProxies: [AddressRange]
    var connectionsMax: Int?
    var connectionsPerAddressMax: Int?
    var headDeadline: Duration?
    var bodyDeadline: Duration?
    var handlerDeadline: Duration?
    var writeDeadline: Duration?
    var idleDeadline: Duration?
    var drainDeadline: Duration?
    /// How long the server accepts connections after SIGTERM, while `/readyz` already returns 503.
    var drainDelay: Duration

    init(_ reader: SettingsReader) throws {
        trustedProxies = try Self.ranges(reader.string("trustedProxies") ?? "")
        connectionsMax = try reader.count("connectionsMax", 1...1_000_000)
        connectionsPerAddressMax = try reader.count("connectionsPerAddressMax", 1...1_000_000)
        headDeadline = try reader.deadline("headDeadline")
        bodyDeadline = try reader.deadline("bodyDeadline")
        handlerDeadline = try reader.deadline("handlerDeadline")
        writeDeadline = try reader.deadline("writeDeadline")
        idleDeadline = try reader.deadline("idleDeadline")
        drainDeadline = try reader.deadline("drainDeadline")
        drainDelay = try reader.deadline("drainDelay", from: .zero) ?? .zero
    }

    private static func ranges(_ text: String) throws -> [AddressRange] {
        try text.split(separator: ",").map { element in
            guard let range = AddressRange(String(element.filter { $0 != " " })) else {
                throw ValidationError(
                    "\(element) is not an address. Trusted proxies are addresses (10.0.0.1) or blocks (10.0.0.0/8), "
                        + "separated by commas.")
            }
            return range
        }
    }

    func apply(to configuration: inout HTTPServerConfiguration) {
        configuration.trustedProxies = trustedProxies
        configuration.connectionsMax = connectionsMax ?? configuration.connectionsMax
        configuration.connectionsPerAddressMax = connectionsPerAddressMax
        let standard = configuration.timeouts
        configuration.timeouts.head = headDeadline ?? standard.head
        configuration.timeouts.body = bodyDeadline ?? standard.body
        configuration.timeouts.handler = handlerDeadline ?? standard.handler
        configuration.timeouts.write = writeDeadline ?? standard.write
        configuration.timeouts.idle = idleDeadline ?? standard.idle
        configuration.timeouts.drain = drainDeadline ?? standard.drain
    }
}

/// The flags of `ConnectionSettings`.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Reverse proxies whose X-Forwarded-For is trusted: addresses or blocks with commas (default: none).",
            valueName: "10.0.0.0/8,…"))
    var trustedProxies: String?

    @Option(
        help: ArgumentHelp(
            "The most open connections; then one that is silent or idle is closed (default: 20000).",
            valueName: "count"))
    var connectionsMax: String?

    @Option(
        help: ArgumentHelp(
            "The most connections of one address; others get a 503 (default: no limit).", valueName: "count"))
    var connectionsPerAddressMax: String?

    @Option(
        help: ArgumentHelp("How long a request's header may take to arrive (default: PT10S).", valueName: "duration"))
    var headDeadline: String?

    @Option(help: ArgumentHelp("How long a request's body may take to arrive (default: PT30S).", valueName: "duration"))
    var bodyDeadline: String?

    @Option(help: ArgumentHelp("How long a response may take to begin (default: PT30S).", valueName: "duration"))
    var handlerDeadline: String?

    @Option(
        help: ArgumentHelp(
            "In each such interval a client must read 512 bytes a second of its response (default: PT30S).",
            valueName: "duration"))
    var writeDeadline: String?

    @Option(
        help: ArgumentHelp(
            "How long a connection may be idle. Longer than the load balancer's idle timeout (default: PT75S).",
            valueName: "duration"))
    var idleDeadline: String?

    @Option(
        help: ArgumentHelp(
            "How long a shutdown waits for requests in progress (default: PT30S).", valueName: "duration"))
    var drainDeadline: String?

    @Option(
        help: ArgumentHelp(
            "After SIGTERM, keep serving this long while /readyz returns 503 (default: PT0S).", valueName: "duration"))
    var drainDelay: String?

    @Option(
        help: ArgumentHelp(
            "Log every nth successful request; others are always logged (default: 1).", valueName: "n"))
    var accessLogInterval: String?

    /// The values by setting name.
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
