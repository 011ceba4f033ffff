import ArgumentParser
import Configuration
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

    init(_ reader: ConfigReader) throws {
        trustedProxies = try Self.ranges(reader.string(forKey: "trustedProxies", default: ""))
        connectionsMax = try reader.count("connectionsMax", "The most connections", 1...1_000_000)
        connectionsPerAddressMax = try reader.count(
            "connectionsPerAddressMax", "The most connections of an address", 1...1_000_000)
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
                    "\(element) is no address of a proxy; write an address or a block such as 10.0.0.0/8, several with commas."
                )
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

extension ConfigReader {
    /// A whole number within `range`, nil if nobody set it.
    func count(_ key: String, _ what: String, _ range: ClosedRange<Int>) throws -> Int? {
        guard let text = string(forKey: ConfigKey(key)) else { return nil }
        guard let count = Int(text), range.contains(count) else {
            throw ValidationError("\(what): \(range.lowerBound) to \(range.upperBound), not \(text).")
        }
        return count
    }

    /// A wait of `least` (a millisecond) to an hour, nil if nobody set it.
    func deadline(_ key: String, from least: Duration = .milliseconds(1)) throws -> Duration? {
        guard let text = string(forKey: ConfigKey(key)) else { return nil }
        guard let deadline = Duration(setting: text), deadline >= least, deadline <= .seconds(3_600) else {
            throw ValidationError("\(key) is a time such as 500ms, 30s or 2m, at most 60m, not \(text).")
        }
        return deadline
    }
}

extension Duration {
    /// A whole number and its unit: `500ms`, `30s`, `2m`.
    init?(setting text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        // Nine digits of any unit cannot overflow.
        guard digits.utf8.count <= 9, let number = Int(digits) else { return nil }
        switch text[digits.endIndex...] {
        case "ms": self = .milliseconds(number)
        case "s": self = .seconds(number)
        case "m": self = .seconds(number * 60)
        default: return nil
        }
    }
}
