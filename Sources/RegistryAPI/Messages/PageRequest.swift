import HTTPServer
import HTTPWire
import PushRegistry

/// `?limit=&after=` of the lists.
struct PageRequest<Cursor> {
    let limit: Int
    let after: Cursor?

    /// - Parameters:
    ///   - sizes: the page sizes that the list allows.
    ///   - standard: the page size by default.
    ///   - cursor: parses a cursor of the list; returns nil for an invalid one.
    /// - Throws: `APIError.invalidParameters`. An unknown parameter is a fault.
    init(
        _ request: ServerRequest, sizes: ClosedRange<Int> = PageLimits.allowed, standard: Int = PageLimits.standard,
        cursor: (String) -> Cursor?
    ) throws {
        var faults: [ParameterFault] = []
        var limit = standard
        var after: Cursor?
        for item in try request.head.queryItems() {
            switch item.name {
            case "limit":
                if let number = Int(item.value), sizes.contains(number) {
                    limit = number
                } else {
                    faults.append(
                        .query(
                            "limit", "out-of-range",
                            "This must be a number from \(sizes.lowerBound) to \(sizes.upperBound)."))
                }
            case "after":
                after = cursor(item.value)
                if after == nil { faults.append(.query("after", "invalid-cursor", "Not a cursor of this list.")) }
            default:
                let hint = NearestName.hint(for: item.name, among: ["limit", "after"])
                faults.append(.query(item.name, "unknown-parameter", "No parameter has this name. " + hint))
            }
        }
        guard faults.isEmpty else { throw APIError.invalidParameters(faults) }
        self.limit = limit
        self.after = after
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
