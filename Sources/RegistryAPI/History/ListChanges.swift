// GET /v1/apps/{app}/changes

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension HTTPField.Name {
    fileprivate static let cursor = HTTPField.Name("X-Cursor")!
}

extension RegistryService {
    /// Where a reader goes on.
    private enum FeedPlace {
        case after(EventCursor)
        /// The present end of the feed: a new reader needs no history.
        case latest
    }

    /// One event a line, oldest first. The last line's cursor, as `after`, leads on; no line: there is nothing new.
    /// `after=latest` answers the present cursor and no event.
    var listChanges: Route {
        Route(.get, "/v1/apps/{app}/changes") { request in
            let call = try await appCall(request, allowing: [.service, .sender])
            let app = call.app.number
            let page = try PageRequest<FeedPlace>(request) { text in
                text == "latest" ? .latest : EventCursor(text, of: app).map { .after($0) }
            }
            let after: EventCursor?
            switch page.after {
            case .latest: return .present(try await events.latestChange(of: app))
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
    fileprivate static func present(_ cursor: EventCursor) -> ServerResponse {
        lines([cursor.description], fields: [.cursor: cursor.description]) { text, writer in
            writer.object { $0.member("cursor", text) }
        }
    }

    /// NDJSON: a line for each item.
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
