/// The name of a saved filter: 1 to 128 characters of `A-Z a-z 0-9 . _ -`, neither `.` nor `..`, case-sensitive.
public struct SegmentName: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-segment-name`.
    public init(_ text: String) throws(InvalidValue) {
        guard ASCII.isName(text, charactersMax: 128) else {
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
}

/// A segment's name in a filter.
public struct SegmentReference: Hashable, Sendable {
    public let name: SegmentName
    /// Where the request contains the name: a JSON pointer, or the name of a query parameter. For faults.
    public let pointer: String

    public init(name: SegmentName, pointer: String) {
        (self.name, self.pointer) = (name, pointer)
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
        (self.name, self.filter, self.description, self.updatedAt) = (name, filter, description, updatedAt)
    }
}

/// Stores the segments of apps. A change takes its entry of the audit, which it writes in its transaction.
///
/// - Throws: every call throws `StoreError`.
public protocol SegmentStore: Sendable {
    func segment(_ name: SegmentName, of app: AppNumber) async throws -> Segment?

    /// One page in the order of the names; one segment more than `limit` if more follow.
    ///
    /// - Parameter after: the last name of the previous page.
    func segments(of app: AppNumber, after: SegmentName?, limit: Int) async throws -> [Segment]

    /// The saved filters of these segments and of all segments that they name, directly or through others.
    func definitions(of names: Set<SegmentName>, in app: AppNumber) async throws -> [SegmentName: String]

    /// Saves a filter.
    ///
    /// - Parameters:
    ///   - uses: the segments that it names.
    ///   - topics: the topics that it names.
    ///   - check: gets the filters of all segments that it names and the segment that it replaces, all locked. If it
    ///     throws, nothing is saved.
    /// - Returns: the saved segment, and whether it is new.
    /// - Throws: `SegmentRefusal.tooMany`, `.unknownTopic`; also what `check` throws.
    func put(
        _ name: SegmentName, filter: String, description: String?, uses: Set<SegmentName>,
        topics: Set<TopicNumber>, in app: AppNumber, recording entry: AuditEntry,
        check: ([SegmentName: String], Segment?) throws -> Void
    ) async throws -> (segment: Segment, isNew: Bool)

    /// - Parameter check: gets the segment, locked. If it throws, nothing is deleted.
    /// - Returns: whether the segment existed.
    /// - Throws: `SegmentRefusal.inUse`; also what `check` throws.
    func delete(
        _ name: SegmentName, of app: AppNumber, recording entry: AuditEntry, check: (Segment?) throws -> Void
    ) async throws -> Bool
}

/// Why a segment was not changed.
public enum SegmentRefusal: Error, Hashable, Sendable {
    /// Another segment names it.
    case inUse
    /// The app has the largest number of segments already.
    case tooMany
    /// A topic was deleted after the filter was checked.
    case unknownTopic
}
