import ArgumentParser
import HTTPServer
import HTTPWire
import RegistryAPI

/// How large requests may be.
struct SizeSettings: Sendable {
    var wire = WireLimits()
    var bodies = BodyLimits()

    init(_ reader: SettingsReader) throws {
        if let size = try reader.size("targetMax", 256...1_048_576) { wire.targetBytesMax = size }
        if let size = try reader.size("headerMax", 1_024...1_048_576) { wire.headerBytesMax = size }
        if let count = try reader.count("headerFieldsMax", 10...10_000) {
            wire.fieldsMax = count
        }
        if let size = try reader.size("registrationMax", 1_024...16_777_216) { bodies.registrationBytesMax = size }
        if let size = try reader.size("feedbackMax", 1_024...268_435_456) { bodies.feedbackBytesMax = size }
    }

    func apply(to configuration: inout HTTPServerConfiguration) {
        configuration.wireLimits = wire
        // A head is taken whole.
        let headBytesMax = wire.methodBytesMax + wire.targetBytesMax + wire.headerBytesMax
        configuration.unreadBytesMax = max(configuration.unreadBytesMax, headBytesMax)
        // Of the largest bodies two can be held.
        let bodyBytesMax = max(bodies.registrationBytesMax, bodies.feedbackBytesMax)
        configuration.heldBytesMax = max(configuration.heldBytesMax, 2 * bodyBytesMax)
    }
}

/// The flags of `SizeSettings`.
struct SizeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The longest request target; more is a 414 (default: 8KiB).", valueName: "size"))
    var targetMax: String?

    @Option(help: ArgumentHelp("The largest header of a request; more is a 431 (default: 32KiB).", valueName: "size"))
    var headerMax: String?

    @Option(help: ArgumentHelp("The most fields of a header; more is a 431 (default: 100).", valueName: "count"))
    var headerFieldsMax: String?

    @Option(help: ArgumentHelp("The largest registration; more is a 413 (default: 64KiB).", valueName: "size"))
    var registrationMax: String?

    @Option(help: ArgumentHelp("The largest call with feedback; more is a 413 (default: 8MiB).", valueName: "size"))
    var feedbackMax: String?

    /// The settings by their names in the file.
    var flags: [String: String?] {
        [
            "targetMax": targetMax, "headerMax": headerMax, "headerFieldsMax": headerFieldsMax,
            "registrationMax": registrationMax, "feedbackMax": feedbackMax,
        ]
    }
}

extension SettingsReader {
    /// Bytes within `range`, nil if nobody set it.
    fileprivate func size(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
        guard let text = string(name) else { return nil }
        guard let size = Int(size: text), range.contains(size) else {
            throw refusal(
                name, text, "a size such as 8000, 64KiB or 8MiB, \(range.lowerBound) to \(range.upperBound) bytes")
        }
        return size
    }
}

extension Int {
    /// A whole number and its unit: `8000`, `64KiB`, `8MiB`.
    init?(size text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        // Nine digits of any unit cannot overflow.
        guard digits.utf8.count <= 9, let number = Int(digits) else { return nil }
        switch text[digits.endIndex...] {
        case "": self = number
        case "KiB": self = number << 10
        case "MiB": self = number << 20
        default: return nil
        }
    }
}
