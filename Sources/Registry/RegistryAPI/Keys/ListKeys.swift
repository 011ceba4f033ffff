// GET /v1/apps/{app}/keys

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var listKeys: Route {
        appRoute(.get, Self.keysPattern, allowing: [.admin]) { request, call in
            let lastUses = try await directory.lastUses(ofKeysOf: call.app.number)
            var writer = JSONWriter()
            writer.object { writer in
                writer.name("keys")
                writer.array { writer in
                    for key in call.directory.keys(of: call.app.number) {
                        writer.object { $0.about(key, lastUsedAt: lastUses[key.id]) }
                    }
                }
            }
            return .json(writer)
        }
    }
}

extension JSONWriter {
    /// Writes the members of a key, without its secret.
    package mutating func about(_ key: APIKey, lastUsedAt: Timestamp?) {
        member("id", key.id)
        member("name", key.name)
        member("roles", key.roles.map(\.rawValue).sorted())
        member("createdAt", key.createdAt.description)
        member("lastUsedAt", lastUsedAt?.description)
        member("expiresAt", key.expiresAt?.description)
        member("revokedAt", key.revokedAt?.description)
    }
}
