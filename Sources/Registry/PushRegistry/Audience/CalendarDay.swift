/// A calendar day without a time zone, such as `2026-11-22`.
public struct CalendarDay: Hashable, Sendable, CustomStringConvertible {
    /// RFC 3339, `full-date`.
    public let description: String

    /// - Throws: `InvalidValue` with the code `invalid-date`.
    public init(_ text: String) throws(InvalidValue) {
        guard text.utf8.count == 10, Timestamp(text + "T00:00:00Z") != nil else {
            throw InvalidValue(code: "invalid-date", detail: "This must be a day such as 2026-11-22.")
        }
        description = text
    }
}
