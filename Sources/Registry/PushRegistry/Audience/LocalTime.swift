/// A time of day, in seconds from midnight: `09:00` or `09:00:30`; `24:00` is the day's end.
public struct LocalTime: Hashable, Comparable, Sendable {
    public static let secondsPerDay = 86_400

    /// 0 to 86,400.
    public let seconds: Int

    /// - Throws: `InvalidValue` with the code `invalid-local-time`.
    public init(_ text: String) throws(InvalidValue) {
        let fields = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let numbers = fields.compactMap { field -> Int? in
            field.count == 2 && field.allSatisfy(ASCII.isDigit) ? Int(String(field) ?? "") : nil
        }
        guard (2...3).contains(fields.count), numbers.count == fields.count, numbers[1] < 60,
            numbers.count < 3 || numbers[2] < 60
        else { throw Self.invalid }
        seconds = numbers[0] * 3_600 + numbers[1] * 60 + (numbers.count > 2 ? numbers[2] : 0)
        guard seconds <= Self.secondsPerDay else { throw Self.invalid }
    }

    /// False for `24:00`, which is only the end of a range.
    public var isWithinDay: Bool { seconds < Self.secondsPerDay }

    public static func < (left: LocalTime, right: LocalTime) -> Bool { left.seconds < right.seconds }

    private static let invalid = InvalidValue(
        code: "invalid-local-time", detail: "This must be a time of day such as 09:00.")
}

/// The times of day from `start` up to, but not including, `end`. If `end` is before `start`, the range spans midnight.
public struct LocalTimeRange: Hashable, Sendable {
    public let start: LocalTime
    public let end: LocalTime

    /// - Throws: `InvalidValue` with the code `invalid-local-time` if the bounds are equal, or if `start` is `24:00`.
    public init(_ start: LocalTime, _ end: LocalTime) throws(InvalidValue) {
        guard start != end, start.isWithinDay else {
            throw InvalidValue(
                code: "invalid-local-time", detail: "The bounds must be different times, the first before 24:00.")
        }
        (self.start, self.end) = (start, end)
    }

    /// - Parameter seconds: from midnight.
    public func contains(_ seconds: Int) -> Bool {
        start < end
            ? seconds >= start.seconds && seconds < end.seconds
            : seconds >= start.seconds || seconds < end.seconds
    }
}
