/// The name of a saved filter: 1 to 128 of `A-Z a-z 0-9 . _ -`, upper and lower case being different.
public struct SegmentName: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-segment-name`.
    public init(_ text: String) throws(InvalidValue) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            throw InvalidValue(
                code: "invalid-segment-name",
                detail: "A segment is 1 to 128 letters, digits, points, underscores or hyphens.")
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

/// Where a filter names a segment.
public struct SegmentReference: Hashable, Sendable {
    public let name: SegmentName
    /// The pointer to the name in the request, for the fault that there is no such segment.
    public let place: String

    public init(name: SegmentName, place: String) {
        self.name = name
        self.place = place
    }
}

/// A saved filter.
public struct Segment: Hashable, Sendable {
    public let name: SegmentName
    /// The filter as JSON, as it was sent.
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
