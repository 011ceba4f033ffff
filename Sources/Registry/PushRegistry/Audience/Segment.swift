/// The name of a saved filter: 1 to 128 characters of `A-Z a-z 0-9 . _ -`, neither `.` nor `..`, case-sensitive.
public struct SegmentName: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-segment-name`.
    public init(_ text: String) throws(InvalidValue) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed), VisibleASCII.isSegment(text)
        else {
            throw InvalidValue(
                code: "invalid-segment-name",
                detail: "A segment name is 1 to 128 characters of A-Z a-z 0-9 . _ - and neither . nor ..")
        }
        rawValue = text
    }

    public var description: String { rawValue }

    public static func < (left: SegmentName, right: SegmentName) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        ASCII.isAlphanumeric(byte) || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains(byte)
    }
}

/// A segment's name in a filter.
public struct SegmentReference: Hashable, Sendable {
    public let name: SegmentName
    /// Where the request contains the name: a JSON pointer, or the name of a query parameter. For faults.
    public let pointer: String

    public init(name: SegmentName, pointer: String) {
        self.name = name
        self.pointer = pointer
    }
}

/// A saved filter.
public struct Segment: Hashable, Sendable {
    public let name: SegmentName
    /// The filter's JSON text, as it was sent.
    public let filter: String
    public let description: String?
    public let updatedAt: Timestamp

    public init(name: SegmentName, filter: String, description: String?, updatedAt: Timestamp) {
        self.name = name
        self.filter = filter
        self.description = description
        self.updatedAt = updatedAt
    }
}
