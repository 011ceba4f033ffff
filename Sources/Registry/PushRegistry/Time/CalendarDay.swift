/// A calendar day without a time zone, such as `2026-11-22`.
public struct CalendarDay: Hashable, Comparable, Sendable, CustomStringConvertible {
    private static let length: Int64 = 86_400_000_000

    /// RFC 3339, `full-date`.
    public let description: String
    /// Midnight in UTC.
    public let start: Timestamp

    /// - Throws: `InvalidValue` with the code `invalid-date`.
    public init(_ text: String) throws(InvalidValue) {
        guard text.utf8.count == 10, let start = Timestamp(text + "T00:00:00Z") else {
            throw InvalidValue(code: "invalid-date", detail: "This must be a day such as 2026-11-22.")
        }
        (description, self.start) = (text, start)
    }

    /// The day in UTC that has this time.
    public init(of time: Timestamp) {
        let passed = (time.microseconds % Self.length + Self.length) % Self.length
        start = Timestamp(microseconds: time.microseconds - passed)
        description = String(start.description.prefix(10))
    }

    /// The day whose end in UTC is nearest to this time.
    public init(endingNear time: Timestamp) {
        self.init(of: Timestamp(microseconds: time.microseconds - Self.length / 2))
    }

    /// The next midnight.
    public var end: Timestamp { Timestamp(microseconds: start.microseconds + Self.length) }

    public func advanced(byDays count: Int) -> CalendarDay {
        CalendarDay(of: Timestamp(microseconds: start.microseconds + Int64(count) * Self.length))
    }

    /// The same day of a later month, or its last one if it has fewer days.
    public func advanced(byMonths count: Int) -> CalendarDay {
        let parts = description.split(separator: "-").compactMap { Int($0) }
        let first = firstDay(ofMonth: parts[0] * 12 + parts[1] - 1 + count)
        let day = first.advanced(byDays: parts[2] - 1)
        guard day.description.prefix(7) != first.description.prefix(7) else { return day }
        return day.advanced(byDays: -(Int(day.description.suffix(2)) ?? 0))
    }

    /// - Parameter month: since the year 0. Those after the year 9999 have one first day, which is after that year.
    private func firstDay(ofMonth month: Int) -> CalendarDay {
        guard month < 120_000 else { return firstDay(ofMonth: 119_999).advanced(byDays: 31) }
        let (year, ofYear) = ("\(10_000 + month / 12)".suffix(4), "\(101 + month % 12)".suffix(2))
        return (try? CalendarDay("\(year)-\(ofYear)-01")) ?? self
    }

    public static func < (left: CalendarDay, right: CalendarDay) -> Bool { left.start < right.start }
}
