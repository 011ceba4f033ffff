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
    /// - Parameter key: nil for a JWT and for the admin key.
    fileprivate init(_ caller: Caller, _ key: APIKey?) {
        self.init()
        let user = caller.user
        let roles = key?.roles ?? (user == nil ? [.admin] : [.client])
        let members = [
            ("keyId", key?.id), ("name", key?.name), ("userId", user?.owner.userID.rawValue),
            ("sessionId", user?.owner.session?.id.rawValue),
            ("expiresAt", (key?.expiresAt ?? user?.expiresAt)?.description),
        ]
        object { writer in
            writer.member("roles", roles.map(\.rawValue).sorted())
            for (name, value) in members where value != nil { writer.member(name, value) }
        }
    }
}
