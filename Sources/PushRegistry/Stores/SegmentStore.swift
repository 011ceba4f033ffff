/// Where an app's saved filters are kept.
///
/// - Throws: all calls `StoreError`.
public protocol SegmentStore: Sendable {
    func segment(_ name: SegmentName, of app: AppNumber) async throws -> Segment?

    /// In the order of their names; `after` is the last one of the page before. One more than `limit` where more
    /// follow.
    func segments(of app: AppNumber, after: SegmentName?, limit: Int) async throws -> [Segment]

    /// The filters of these segments and of all that they name, as they are saved.
    func definitions(of names: Set<SegmentName>, in app: AppNumber) async throws -> [SegmentName: String]

    /// Saves a filter.
    ///
    /// - Parameters:
    ///   - uses: the segments that it names.
    ///   - check: sees the filters of all that it names and the segment that is replaced, as they are when nobody can
    ///     change one any more; what it throws saves nothing.
    /// - Returns: whether it is a new one.
    /// - Throws: `SegmentRefusal.tooMany`; what `check` throws.
    func put(
        _ name: SegmentName, filter: String, description: String?, uses: Set<SegmentName>, in app: AppNumber,
        check: ([SegmentName: String], Segment?) throws -> Void
    ) async throws -> Bool

    /// - Parameter check: sees the segment as it is when nobody can change it any more; what it throws deletes nothing.
    /// - Throws: `SegmentRefusal.inUse`.
    func delete(_ name: SegmentName, of app: AppNumber, check: (Segment?) throws -> Void) async throws
}

/// Why a segment is left as it is.
public enum SegmentRefusal: Error, Hashable, Sendable {
    /// Another segment names it.
    case inUse
    /// The app has as many as it may have.
    case tooMany
}
