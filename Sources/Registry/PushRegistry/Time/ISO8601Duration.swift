/// An ISO 8601 duration such as `P30D`, `PT24H`, `P2W` or `P7DT1H30M`.
///
/// It consists of weeks, days, hours, minutes and seconds: whole numbers, each unit at most once, larger units first. A
/// day is 24 hours. Years and months are refused, since their length varies.
public struct ISO8601Duration: Hashable, Comparable, Sendable {
    /// A thousand years: PostgreSQL and RFC 3339 can still represent a time that far from now.
    public static let secondsMax: Int64 = 365_250 * 86_400

    public let seconds: Int64

    /// - Precondition: `seconds` lies within 0 and `secondsMax`.
    public init(seconds: Int64) {
        precondition((0...Self.secondsMax).contains(seconds), "A duration is from 0 to a thousand years.")
        self.seconds = seconds
    }

    public static func days(_ count: Int64) -> ISO8601Duration { ISO8601Duration(seconds: count * 86_400) }
    public static func hours(_ count: Int64) -> ISO8601Duration { ISO8601Duration(seconds: count * 3_600) }

    /// - Throws: `InvalidValue` with the code `invalid-duration`, or `out-of-range`.
    public init(_ text: String) throws(InvalidValue) {
        guard let parts = Self.parts(text) else {
            throw InvalidValue(
                code: "invalid-duration",
                detail: "This must be an ISO 8601 duration of weeks, days, hours, minutes and seconds.")
        }
        var total: Int64 = 0
        for part in parts {
            let (product, overflowed) = part.count.multipliedReportingOverflow(by: part.unit)
            guard !overflowed, product <= Self.secondsMax, total + product <= Self.secondsMax else {
                throw InvalidValue(code: "out-of-range", detail: "This must be at most a thousand years.")
            }
            total += product
        }
        seconds = total
    }

    public static func < (left: ISO8601Duration, right: ISO8601Duration) -> Bool {
        left.seconds < right.seconds
    }

    /// Counts with their units in seconds; nil if the text is no duration.
    private static func parts(_ text: String) -> [(count: Int64, unit: Int64)]? {
        guard text.first == "P" else { return nil }
        let halves = text.dropFirst().split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        guard let date = parts(halves[0], units: [("W", 604_800), ("D", 86_400)]) else { return nil }
        guard halves.count > 1 else { return date.isEmpty ? nil : date }
        guard let time = parts(halves[1], units: [("H", 3_600), ("M", 60), ("S", 1)]), !time.isEmpty else { return nil }
        return date + time
    }

    private static func parts(
        _ text: Substring, units: [(letter: Character, seconds: Int64)]
    ) -> [(count: Int64, unit: Int64)]? {
        var rest = text
        var parts: [(count: Int64, unit: Int64)] = []
        for unit in units {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty, rest[digits.endIndex...].first == unit.letter else { continue }
            parts.append((Int64(digits) ?? .max, unit.seconds))
            rest = rest[digits.endIndex...].dropFirst()
        }
        return rest.isEmpty ? parts : nil
    }
}

extension ISO8601Duration: CustomStringConvertible {
    /// Days, hours, minutes and seconds without the zero ones: `P1D` for `PT24H`.
    public var description: String {
        let time = [(seconds / 3600 % 24, "H"), (seconds / 60 % 60, "M"), (seconds % 60, "S")]
            .filter { $0.0 > 0 }.map { "\($0.0)\($0.1)" }.joined()
        let days = seconds >= 86_400 ? "\(seconds / 86_400)D" : ""
        if days.isEmpty && time.isEmpty { return "PT0S" }
        return "P" + days + (time.isEmpty ? "" : "T" + time)
    }
}
