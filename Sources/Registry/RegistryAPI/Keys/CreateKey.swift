// POST /v1/apps/{app}/keys

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
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("id", new.key.id)
                writer.member("key", new.text)
            }
            return .json(writer, status: .created, fields: [.cacheControl: "no-store"])
        }
    }
}

/// `{name, roles, expiresAt?}`.
struct KeyBody {
    let name: String
    let roles: Set<Role>
    let expiresAt: Timestamp?

    /// - Parameter now: a key that would have expired already is a fault.
    static func parse(_ body: [UInt8], at now: Timestamp) throws(JSONFaults) -> KeyBody {
        let document = try JSONDocument(body)
        let root = document.root.object()
        root?.refuseUnknownMembers(besides: ["name", "roles", "expiresAt"])
        let expiresAt = root?.expiry(after: now)
        let name = root?.string("name", .required, scalarsMax: Device.textScalarsMax)
        let names = root?.array("roles", .required, elementsMax: Role.allCases.count)
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
        try document.check()
        return KeyBody(name: name ?? "", roles: Set(roles ?? []), expiresAt: expiresAt)
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
