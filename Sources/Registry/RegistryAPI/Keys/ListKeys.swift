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
                        writer.key(key, lastUsedAt: lastUses[key.id])
                    }
                }
            }
            return .json(writer)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func key(_ key: APIKey, lastUsedAt: Timestamp?) {
        object { writer in
            writer.member("id", key.id)
            writer.member("name", key.name)
            writer.member("roles", key.roles.map(\.rawValue).sorted())
            writer.member("createdAt", key.createdAt.description)
            writer.member("lastUsedAt", lastUsedAt?.description)
            writer.member("revokedAt", key.revokedAt?.description)
        }
    }
}
