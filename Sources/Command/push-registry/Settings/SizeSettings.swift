import ArgumentParser
import HTTPServer
import HTTPWire
import RegistryAPI

/// The largest sizes of requests.
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
        // The buffer must hold a whole head.
        let headBytesMax = wire.methodBytesMax + wire.targetBytesMax + wire.headerBytesMax
        configuration.pipelinedBytesMax = max(configuration.pipelinedBytesMax, headBytesMax)
        // The buffers must hold two of the largest bodies.
        let bodyBytesMax = max(bodies.registrationBytesMax, bodies.feedbackBytesMax)
        configuration.heldBytesMax = max(configuration.heldBytesMax, 2 * bodyBytesMax)
    }
}

/// The flags of `SizeSettings`.
struct SizeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The longest request target, else 414 (default: 8KiB).", valueName: "size"))
    var targetMax: String?

    @Option(help: ArgumentHelp("The largest request header, else 431 (default: 32KiB).", valueName: "size"))
    var headerMax: String?

    @Option(help: ArgumentHelp("The most fields of a header, else 431 (default: 100).", valueName: "count"))
    var headerFieldsMax: String?

    @Option(help: ArgumentHelp("The largest registration, else 413 (default: 64KiB).", valueName: "size"))
    var registrationMax: String?

    @Option(help: ArgumentHelp("The largest feedback call, else 413 (default: 8MiB).", valueName: "size"))
    var feedbackMax: String?

    /// The values by setting name.
    var flags: [String: String?] {
        [
            "targetMax": targetMax, "headerMax": headerMax, "headerFieldsMax": headerFieldsMax,
            "registrationMax": registrationMax, "feedbackMax": feedbackMax,
        ]
    }
}

extension SettingsReader {
    /// A number of bytes within `range`; nil if the setting is not set.
    fileprivate func size(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
        guard let text = string(name) else { return nil }
        guard let size = Int(size: text), range.contains(size) else {
            throw refusal(
                name, text, "a size from \(range.lowerBound) to \(range.upperBound) bytes, such as 8000, 64KiB or 8MiB")
        }
        return size
    }
}

extension Int {
    /// Parses a whole number with an optional unit: `8000`, `64KiB`, `8MiB`.
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
