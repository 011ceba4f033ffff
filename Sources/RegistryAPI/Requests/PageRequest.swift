import HTTPServer
import HTTPWire
import PushRegistry

/// `?limit=&after=` of the lists.
struct PageRequest<Cursor> {
    let limit: Int
    let after: Cursor?

    /// - Parameter cursor: reads a cursor of the list; nil for what is none.
    /// - Throws: `APIError.invalidParameters`; an unknown parameter is one of the faults.
    init(_ request: ServerRequest, cursor: (String) -> Cursor?) throws {
        var faults: [ParameterFault] = []
        var limit = PageLimits.standard
        var after: Cursor?
        for item in try request.head.queryItems() {
            switch item.name {
            case "limit":
                if let number = Int(item.value), PageLimits.allowed.contains(number) {
                    limit = number
                } else {
                    faults.append(.query("limit", "out-of-range", "This must be a number from 1 to 1000."))
                }
            case "after":
                after = cursor(item.value)
                if after == nil { faults.append(.query("after", "invalid-cursor", "Not a cursor of this list.")) }
            default:
                faults.append(.query(item.name, "unknown-parameter", "No such parameter is known."))
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
    /// Of the feed, or of a history. The cursor of another app's is none of this one's.
    init(_ request: ServerRequest, ofEventsOf app: AppNumber) throws {
        try self.init(request) { text in EventCursor(text).flatMap { $0.app == app ? $0 : nil } }
    }
}

extension ParameterFault {
    static func query(_ name: String, _ code: String, _ detail: String) -> ParameterFault {
        ParameterFault(parameter: name, code: code, detail: detail)
    }
}
