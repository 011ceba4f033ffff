// GET /v1/apps/{app}/changes

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension HTTPField.Name {
    fileprivate static let cursor = HTTPField.Name("X-Cursor")!
}

extension RegistryService {
    /// The parameter `after`.
    private enum FeedStart {
        case after(EventCursor)
        /// The current end of the feed, for a reader that needs no history.
        case latest
    }

    /// One event per line, oldest first. The next call passes the last line's cursor as `after`. An empty response
    /// means that there are no new events. `after=latest` returns the current cursor and no event.
    var listChanges: Route {
        appRoute(.get, "/v1/apps/{app}/changes", allowing: [.service, .sender]) { request, call in
            let app = call.app.number
            let page = try PageRequest<FeedStart>(request) { text in
                text == "latest" ? .latest : EventCursor(text, of: app).map { .after($0) }
            }
            let after: EventCursor?
            switch page.after {
            case .latest: return .cursor(try await events.latestChange(of: app))
            case .after(let cursor): after = cursor
            case nil: after = nil
            }
            let changes = try await events.changes(of: app, after: after, limit: page.limit)
            return .lines(changes) { $1.event($0) }
        }
    }
}

extension ServerResponse {
    /// `{cursor}`.
    fileprivate static func cursor(_ cursor: EventCursor) -> ServerResponse {
        lines([cursor.description], fields: [.cursor: cursor.description]) { text, writer in
            writer.object { $0.member("cursor", text) }
        }
    }

    /// NDJSON: one line for each item.
    fileprivate static func lines<Item>(
        _ items: [Item], fields: HTTPFields = [:], _ write: (Item, inout JSONWriter) -> Void
    ) -> ServerResponse {
        var bytes: [UInt8] = []
        for item in items {
            var writer = JSONWriter()
            write(item, &writer)
            bytes += writer.bytes
            bytes.append(UInt8(ascii: "\n"))
        }
        var fields = fields
        fields[.contentType] = "application/x-ndjson"
        return ServerResponse(.ok, fields: fields, body: .bytes(bytes))
    }
}
