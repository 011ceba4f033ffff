// POST /v1/apps/{app}/keys
// GET /v1/apps/{app}/keys
// DELETE /v1/apps/{app}/keys/{keyId}
// GET /v1/apps/{app}/caller

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    static let keysPattern = "/v1/apps/{app}/keys"
    static let keyBytesMax = 4 * 1024

    var createKey: Route {
        appRoute(.post, Self.keysPattern, allowing: [.admin], bodyBytesMax: Self.keyBytesMax) { request, call in
            let body = try KeyBody.parse(try request.jsonBody(), at: .now())
            let new = NewKey(of: call.app, name: body.name, roles: body.roles, expiresAt: body.expiresAt)
            let entry = AuditEntry(.keyCreated, new.key.id, by: call.caller, in: request)
            try await directory.add(new.key, recording: entry)
            audit.changed(entry, new.auditMetadata, by: call.caller, in: request)
            return .json(status: .created, fields: [.cacheControl: "no-store"]) { writer in
                writer.member("id", new.key.id)
                writer.member("key", new.text)
            }
        }
    }

    var listKeys: Route {
        appRoute(.get, Self.keysPattern, allowing: [.admin]) { request, call in
            let lastUses = try await directory.lastUses(ofKeysOf: call.app.number)
            return .json { writer in
                writer.objects("keys", call.directory.keys(of: call.app.number)) {
                    $0.about($1, lastUsedAt: lastUses[$1.id])
                }
            }
        }
    }

    var revokeKey: Route {
        appRoute(.delete, Self.keysPattern + "/{keyId}", allowing: [.admin]) { request, call in
            let id = request.parameters["keyId"]
            let entry = AuditEntry(.keyRevoked, id, by: call.caller, in: request)
            guard try await directory.revokeKey(id, of: call.app.number, recording: entry) else {
                throw APIError.unknownKey
            }
            audit.changed(entry, by: call.caller, in: request)
            return ServerResponse(.noContent)
        }
    }

    /// What the credential of the call is, so that a program can check its configuration.
    var getCaller: Route {
        appRoute(.get, "/v1/apps/{app}/caller", allowing: .all) { _, call in
            let key = call.caller.user == nil ? call.caller.keyID.flatMap { call.directory.key($0) } : nil
            return .json(JSONWriter(call.caller, key))
        }
    }
}

/// `{name, roles, expiresAt?}`.
struct KeyBody {
    let name: String
    let roles: Set<Role>
    let expiresAt: Timestamp?

    /// - Parameter now: a key that would have expired already is a fault.
    static func parse(_ body: [UInt8], at now: Timestamp) throws -> KeyBody {
        try JSONObject.read(body, members: ["name", "roles", "expiresAt"]) { root in
            let expiresAt = root.expiry(after: now)
            let name = root.string("name", .required, scalarsMax: Device.textScalarsMax)
            let names = root.array("roles", .required, elementsMax: Role.allCases.count)
            if let names, names.isEmpty {
                names.value.refuse(.required, "A key requires at least one role.")
            }
            let roles = names?.compactMap { value -> Role? in
                guard let name = value.string(scalarsMax: Device.textScalarsMax) else { return nil }
                if let role = Role(rawValue: name) { return role }
                let known = Role.allCases.map(\.rawValue).joined(separator: ", ")
                value.refuse(.init(rawValue: "unknown-role"), "This must be one of \(known).")
                return nil
            }
            return KeyBody(name: name ?? "", roles: Set(roles ?? []), expiresAt: expiresAt)
        }
    }
}

extension JSONObject {
    fileprivate func expiry(after now: Timestamp) -> Timestamp? {
        guard let value = value("expiresAt"), let text = value.string(scalarsMax: Device.textScalarsMax) else {
            return nil
        }
        guard let time = Timestamp(text) else {
            value.refuse(.invalidTime, "This must be an RFC 3339 time.")
            return nil
        }
        if time <= now { value.refuse(.outOfRange, "This must be in the future.") }
        return time
    }
}

/// A new API key: `text` is shown once, in the response that creates it, and `key` is stored.
public struct NewKey: Sendable {
    public let text: String
    public let key: APIKey

    public init(of app: App, name: String, roles: Set<Role>, expiresAt: Timestamp? = nil) {
        let presented = PresentedKey()
        text = presented.text
        key = APIKey(
            id: presented.id, app: app.number, name: name, roles: roles, secretSHA256: presented.sha256,
            createdAt: .now(), expiresAt: expiresAt, revokedAt: nil)
    }

    /// What the audit log also says of its creation.
    public var auditMetadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "name": "\(key.name)",
            "roles": "\(key.roles.map(\.rawValue).sorted().joined(separator: ","))",
        ]
        if let expiresAt = key.expiresAt { metadata["expiresAt"] = "\(expiresAt)" }
        return metadata
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
