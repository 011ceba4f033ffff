/// An instant with PostgreSQL's resolution, `timestamptz`.
public struct PostgresTimestamp: Hashable, Comparable, Sendable {
    /// In UTC. `Int64.max` and `Int64.min` are PostgreSQL's `infinity` and `-infinity`.
    public var microsecondsSince1970: Int64

    /// Checks no range.
    @inlinable
    public init(microsecondsSince1970: Int64) {
        self.microsecondsSince1970 = microsecondsSince1970
    }

    /// From 1970-01-01 to 2000-01-01, PostgreSQL's epoch.
    @usableFromInline static let epochMicroseconds: Int64 = 946_684_800_000_000

    /// The value on the wire. PostgreSQL's infinities are the limits of the range and are not shifted.
    @inlinable
    var microsecondsSince2000: Int64 {
        switch microsecondsSince1970 {
        case .max, .min: microsecondsSince1970
        default: microsecondsSince1970 &- Self.epochMicroseconds
        }
    }

    @inlinable
    init(microsecondsSince2000 microseconds: Int64) {
        switch microseconds {
        case .max, .min: microsecondsSince1970 = microseconds
        default: microsecondsSince1970 = microseconds &+ Self.epochMicroseconds
        }
    }

    @inlinable
    public static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
        left.microsecondsSince1970 < right.microsecondsSince1970
    }
}
