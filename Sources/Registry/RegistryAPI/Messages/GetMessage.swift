// GET /v1/apps/{app}/messages/{message}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var getMessage: Route {
        appRoute(.get, Self.messagePattern, allowing: Self.messageRoles) { request, call in
            let message = try await message(of: call, in: request)
            let (asOf, counts) = try await messages.counts(of: message.number, in: call.app.number)
            var writer = JSONWriter()
            writer.object { writer in
                writer.about(message)
                writer.members(counts)
                writer.member("asOf", asOf.description)
            }
            return .json(writer)
        }
    }
}
