// GET /v1/apps/{app}/changes

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// One event a line, oldest first. The last line's cursor, as `after`, leads on; no line: there is nothing new.
    var listChanges: Route {
        Route(.get, "/v1/apps/{app}/changes") { request in
            let call = try await appCall(request, allowing: [.service, .sender])
            let page = try PageRequest(request, ofEventsOf: call.app.number)
            let changes = try await events.changes(of: call.app.number, after: page.after, limit: page.limit)
            return ServerResponse(
                .ok, fields: [.contentType: "application/x-ndjson"], body: .bytes(lines(changes)))
        }
    }

    private func lines(_ changes: [RecordedEvent]) -> [UInt8] {
        var lines: [UInt8] = []
        for change in changes {
            var writer = JSONWriter()
            writer.event(change)
            lines += writer.bytes
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }
}
