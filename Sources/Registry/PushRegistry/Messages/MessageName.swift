/// The name of a message: 1 to 128 characters of `A-Z a-z 0-9 . _ -`, neither `.` nor `..`, case-sensitive.
public struct MessageName: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-message-name`.
    public init(_ text: String) throws(InvalidValue) {
        // The same characters as in a segment's name.
        guard let name = try? SegmentName(text) else {
            throw InvalidValue(
                code: "invalid-message-name",
                detail: "A message's name is 1 to 128 characters of A-Z a-z 0-9 . _ - and neither . nor ..")
        }
        rawValue = name.rawValue
    }

    public var description: String { rawValue }
}

/// The store's number of a message: the hundredth of a second since 1970 in which it was created, or the next free one
/// of its app. A number is never used again, not even after a dump was restored.
public struct MessageNumber: Hashable, Comparable, Sendable {
    /// The largest number that fits the five bytes in a receipt: in the year 2318.
    public static let rawValueMax: Int64 = (1 << 40) - 1

    public let rawValue: Int64

    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The first number for a message that is created at this time.
    public init(createdAt time: Timestamp) {
        rawValue = time.microseconds / 10_000
    }

    /// When the message was created, to a hundredth of a second. It may be later than the creation if the app creates
    /// more than a hundred messages a second.
    public var time: Timestamp { Timestamp(microseconds: rawValue * 10_000) }

    public static func < (left: MessageNumber, right: MessageNumber) -> Bool { left.rawValue < right.rawValue }
}
