import ArgumentParser
import HTTPServer

/// What clients may take of the server, and for how long it waits for whom; nil where the standard holds.
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
    /// How long it still takes connections after it was told to stop, while `readyz` already says so.
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
                    "\(element) is not the address of a proxy. Write addresses (10.0.0.1) or blocks (10.0.0.0/8), with "
                        + "commas between them.")
            }
            return range
        }
    }

    func apply(to configuration: inout HTTPServerConfiguration) {
        configuration.trustedProxies = trustedProxies
        configuration.connectionsMax = connectionsMax ?? configuration.connectionsMax
        configuration.connectionsPerAddressMax = connectionsPerAddressMax
        let standard = configuration.deadlines
        configuration.deadlines.head = headDeadline ?? standard.head
        configuration.deadlines.body = bodyDeadline ?? standard.body
        configuration.deadlines.handler = handlerDeadline ?? standard.handler
        configuration.deadlines.write = writeDeadline ?? standard.write
        configuration.deadlines.idle = idleDeadline ?? standard.idle
        configuration.deadlines.drain = drainDeadline ?? standard.drain
    }
}
