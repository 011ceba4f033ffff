// GET /v1/apps/{app}/users/{userId}/installations

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var listUserInstallations: Route {
        appRoute(.get, Self.userPattern + "/installations", allowing: [.service, .sender, .support]) { request, call in
            let page = try PageRequest(request) { try? InstallID($0) }
            let found = try await users.installations(
                of: [try request.identifier("userId", UserID.init)], in: call.app.number, after: page.after,
                limit: page.limit)
            return .json(text(of: found, for: RecordAudience(call.caller)))
        }
    }

    private func text(of page: InstallationPage, for audience: RecordAudience) -> JSONWriter {
        var writer = JSONWriter(capacity: 4_096)
        writer.object { writer in
            writer.name("installations")
            writer.array { writer in
                for record in page.installations { writer.installation(record, showing: audience) }
            }
            writer.member("next", page.next?.rawValue)
        }
        return writer
    }
}
