// GET /v1/apps/{app}/messages

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// The newest first, without their counts.
    var listMessages: Route {
        appRoute(.get, Self.messagesPattern, allowing: Self.messageRoles) { request, call in
            let page = try PageRequest(request) { Int64($0).map(MessageNumber.init) }
            let found = try await messages.messages(
                of: call.app.number, before: page.after, limit: page.limit + 1)
            var writer = JSONWriter(capacity: 4_096)
            writer.object { writer in
                writer.name("messages")
                writer.array { writer in
                    for message in found.prefix(page.limit) { writer.object { $0.about(message) } }
                }
                let last = found.count > page.limit ? found[page.limit - 1] : nil
                writer.member("next", last.map { "\($0.number.rawValue)" })
            }
            return .json(writer)
        }
    }
}
