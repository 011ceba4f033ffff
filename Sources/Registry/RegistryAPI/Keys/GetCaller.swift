// GET /v1/apps/{app}/caller

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// What the credential of the call is, so that a program can check its configuration.
    var getCaller: Route {
        appRoute(.get, "/v1/apps/{app}/caller", allowing: .all) { _, call in
            let key = call.caller.user == nil ? call.caller.keyID.flatMap { call.directory.key($0) } : nil
            return .json(JSONWriter(call.caller, key))
        }
    }
}

extension JSONWriter {
    /// `{roles, keyId?, name?, userId?, sessionId?, expiresAt?}`.
    ///
    /// - Parameter key: nil for a JWT, the admin key, and a person.
    fileprivate init(_ caller: Caller, _ key: APIKey?) {
        self.init()
        let user = caller.user
        let roles = key.map { Array($0.roles) } ?? caller.namedRoles
        let expiresAt = key?.expiresAt ?? user?.expiresAt
        object { writer in
            writer.member("roles", roles.map(\.rawValue).sorted())
            if let key {
                writer.member("keyId", key.id)
                writer.member("name", key.name)
            }
            if let person = caller.person { writer.member("name", person.name) }
            if let user { writer.member("userId", user.owner.userID.rawValue) }
            if let session = user?.owner.session { writer.member("sessionId", session.id.rawValue) }
            if let expiresAt { writer.member("expiresAt", expiresAt.description) }
        }
    }
}
