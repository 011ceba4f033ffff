import ArgumentParser
import PushRegistry

/// A setting: its names, its default, and how its text is read.
struct Setting: Sendable {
    /// The name in the file, such as `dataDir`.
    let name: String
    /// The flag, such as `--data-dir`; nil for a secret that must not be part of a command line.
    let flag: String?
    /// The default value in the syntax of the file, or a description of it in parentheses.
    let standard: String
    /// The line of help, without the default.
    let help: String
    let value: SettingValue
    let isSecret: Bool

    /// - Parameter flag: the name of the flag, if it differs from that of the setting.
    init(
        _ name: String, default standard: String, _ help: String, _ value: SettingValue, flag: String? = nil,
        hasFlag: Bool = true, isSecret: Bool = false
    ) {
        self.name = name
        self.flag = hasFlag ? "--" + (flag ?? Self.words(name, separator: "-")) : nil
        self.standard = standard
        self.help = help
        self.value = value
        self.isSecret = isSecret
    }

    /// The default value, unless `standard` describes it only.
    var standardText: String? { standard.hasPrefix("(") ? nil : standard }

    static let variablePrefix = "PUSH_REGISTRY_"

    /// The environment variable, derived from the name: `PUSH_REGISTRY_DATA_DIR`.
    var variable: String { Self.variablePrefix + Self.words(name, separator: "_").uppercased() }

    /// `dataDir` as `data-dir`.
    static func words(_ name: String, separator: String) -> String {
        name.map { $0.isUppercase ? separator + $0.lowercased() : "\($0)" }.joined()
    }

    static func named(_ name: String) -> Setting? { all.first { $0.name == name } }
}

/// How the text of a setting becomes a part of the settings.
struct SettingValue: Sendable {
    /// A text that is not as the setting expects.
    struct Unexpected: Error {
        /// What the text must be, such as "a duration".
        let expected: String
    }

    /// What help texts call the value, such as `duration`.
    let unit: String
    /// - Throws: `Unexpected` or `ValidationError`.
    let read: @Sendable (_ text: String, _ settings: inout Settings) throws -> Void

    /// Stores a value.
    typealias Store<Value> = @Sendable (inout Settings, Value) -> Void

    /// - Parameter parse: returns nil for an invalid text.
    init<Value>(
        _ unit: String, _ expected: String, _ parse: @escaping @Sendable (String) throws -> Value?,
        _ store: @escaping Store<Value>
    ) {
        self.unit = unit
        read = { text, settings in
            guard let value = try parse(text) else { throw Unexpected(expected: expected) }
            store(&settings, value)
        }
    }
}

extension SettingValue {
    static func text(_ unit: String, _ store: @escaping Store<String>) -> SettingValue {
        SettingValue(unit, "", { $0 }, store)
    }

    static func count(_ range: ClosedRange<Int>, _ store: @escaping Store<Int>) -> SettingValue {
        SettingValue(
            "count", "a whole number, \(range.lowerBound) to \(range.upperBound)",
            { Int($0).flatMap { range.contains($0) ? $0 : nil } }, store)
    }

    /// A number of bytes.
    static func size(_ range: ClosedRange<Int>, _ store: @escaping Store<Int>) -> SettingValue {
        SettingValue(
            "size", "a size from \(range.lowerBound) to \(range.upperBound) bytes, such as 8000, 64KiB or 8MiB",
            { Int(size: $0).flatMap { range.contains($0) ? $0 : nil } }, store)
    }

    /// A duration from `least` (by default 1 ms) to an hour.
    static func deadline(
        from least: Duration = .milliseconds(1), _ store: @escaping Store<Duration>
    ) -> SettingValue {
        SettingValue(
            "duration", "a duration such as PT30S, PT2M or 500ms, at most PT1H",
            { Duration(setting: $0).flatMap { (least...(.seconds(3_600))).contains($0) ? $0 : nil } }, store)
    }

    /// `20%`. A number without the sign is refused: 1 could mean 1% or 100%.
    static func share(_ store: @escaping Store<Double>) -> SettingValue {
        SettingValue(
            "percent%", "a percentage from 0% to 100% with its sign, such as 20%",
            { text in
                guard let digits = text.wholeMatch(of: /([0-9]+(?:\.[0-9]+)?)%/)?.1, let number = Double(digits),
                    number <= 100
                else { return nil }
                return number / 100
            }, store)
    }

    /// At least a day: feedback and readers of the change feed need younger history.
    static func retention(_ store: @escaping Store<ISO8601Duration>) -> SettingValue {
        SettingValue(
            "duration", "a duration such as P400D, at least P1D",
            { text in
                guard let seconds = Duration(setting: text)?.components.seconds,
                    (86_400...ISO8601Duration.secondsMax).contains(seconds)
                else { return nil }
                return ISO8601Duration(seconds: seconds)
            }, store)
    }
}

extension Duration {
    /// Parses an ISO 8601 duration (`PT30S`, `P400D`) or a whole number with a unit (`500ms`, `30s`, `2m`, `36h`,
    /// `400d`).
    init?(setting text: String) {
        if let duration = try? ISO8601Duration(text) {
            self = .seconds(duration.seconds)
            return
        }
        guard let (number, unit) = text.numberAndUnit else { return nil }
        switch unit {
        case "ms": self = .milliseconds(number)
        case "s": self = .seconds(number)
        case "m": self = .seconds(number * 60)
        case "h": self = .seconds(number * 3_600)
        case "d": self = .seconds(number * 86_400)
        default: return nil
        }
    }
}

extension Int {
    /// Parses a whole number with an optional unit: `8000`, `64KiB`, `8MiB`.
    fileprivate init?(size text: String) {
        guard let (number, unit) = text.numberAndUnit else { return nil }
        switch unit {
        case "": self = number
        case "KiB": self = number << 10
        case "MiB": self = number << 20
        default: return nil
        }
    }
}

extension String {
    /// A number of up to nine digits, which no unit makes overflow, and what follows it.
    fileprivate var numberAndUnit: (Int, Substring)? {
        let digits = prefix { $0.isASCII && $0.isNumber }
        guard digits.utf8.count <= 9, let number = Int(digits) else { return nil }
        return (number, self[digits.endIndex...])
    }
}
