import HTTPApplication
import PushRegistry

/// `?limit=&after=` of the lists.
struct PageRequest<Cursor> {
    let limit: Int
    let after: Cursor?

    /// - Parameters:
    ///   - sizes: the page sizes that the list allows.
    ///   - standard: the page size by default.
    ///   - cursor: parses a cursor of the list; returns nil for an invalid one.
    /// - Throws: `APIError.invalidParameters` with every fault.
    init(
        _ request: ServerRequest, sizes: ClosedRange<Int> = PageLimits.allowed, standard: Int = PageLimits.standard,
        cursor: (String) -> Cursor?
    ) throws {
        var query = try QueryParameters(request, ["limit", "after"])
        limit = query.integer("limit", in: sizes) ?? standard
        after = query.cursor("after", cursor)
        try query.check()
    }
}

enum PageLimits {
    static let standard = 100
    static let allowed = 1...1_000
}

extension PageRequest where Cursor: LosslessStringConvertible {
    init(_ request: ServerRequest) throws {
        try self.init(request) { Cursor($0) }
    }
}

extension PageRequest<EventCursor> {
    /// A page of a history.
    init(_ request: ServerRequest, ofEventsOf app: AppNumber) throws {
        try self.init(request) { EventCursor($0, of: app) }
    }
}

extension EventCursor {
    /// Nil also for a cursor of another app.
    init?(_ text: String, of app: AppNumber) {
        guard let cursor = EventCursor(text), cursor.app == app else { return nil }
        self = cursor
    }
}
