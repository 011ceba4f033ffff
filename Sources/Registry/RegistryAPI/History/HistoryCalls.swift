// GET /v1/apps/{app}/installations/{installId}/history
// POST /v1/apps/{app}/tokens/history
// GET /v1/apps/{app}/changes

import Basics
import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var listHistory: Route {
        appRoute(.get, Self.installationPattern + "/history", allowing: [.service, .support]) { request, call in
            let page = try PageRequest(request) { EventCursor($0, of: call.app.number) }
            let (key, requester) = try installation(of: request, in: call)
            try await checkOwner(of: key, for: requester)
            guard let found = try await events.events(of: key, before: page.after, limit: page.limit) else {
                throw APIError.unknownInstallation
            }
            return .json(JSONWriter(found))
        }
    }

    private static let tokenHistoryBytesMax = 64 * 1024

    /// A POST although it changes nothing: a token must not be part of a path (R14).
    var listTokenHistory: Route {
        appRoute(
            .post, "/v1/apps/{app}/tokens/history", allowing: [.service, .support],
            bodyBytesMax: Self.tokenHistoryBytesMax
        ) { request, call in
            let body = try request.jsonBody()
            let page = try PageRequest(request) { EventCursor($0, of: call.app.number) }
            let token = try await parsing(body.count) {
                try JSONObject.read(body, members: ["token", "provider"]) { $0.token().token }
            }
            let address = TokenAddress(token, of: call.app.number)
            return .json(
                JSONWriter(try await events.events(of: address, before: page.after, limit: page.limit)))
        }
    }

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

extension HTTPField.Name {
    fileprivate static let cursor = HTTPField.Name("X-Cursor")!
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

extension JSONWriter {
    /// `{events: […], next}`.
    init(_ page: EventPage) {
        self.init(capacity: 512 * (page.events.count + 1)) { writer in
            writer.array("events", page.events) { $0.event($1) }
            writer.member("next", page.next?.description)
        }
    }

    /// An event in the history and in the feed (fine print 26).
    mutating func event(_ event: RecordedEvent) {
        object { writer in
            writer.member("cursor", event.cursor.description)
            writer.member("at", event.at.description)
            writer.member("event", event.kind)
            writer.member("reason", event.reason)
            writer.member("actor", event.actor)
            writer.member("installId", event.installID)
            writer.member("provider", event.provider)
            writer.member("tokenSha256", event.tokenSHA256.map { String(hex: $0) })
            writer.member("userId", event.userID)
            writer.member("previousUserId", event.previousUserID)
            writer.member("state", event.state)
            writer.member("generationBefore", event.generationBefore)
            writer.member("generationAfter", event.generationAfter)
            if let topics = event.topics { writer.member("topics", topics) }
        }
    }
}
