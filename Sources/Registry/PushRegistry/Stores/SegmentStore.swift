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
