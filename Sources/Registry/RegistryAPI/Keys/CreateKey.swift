// POST /v1/apps/{app}/keys

import Foundation
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
            let (name, roles) = try KeyBody.parse(try request.jsonBody())
            let new = NewKey(of: call.app, name: name, roles: roles)
            try await directory.add(new.key)
            audit.changed(
                "key created",
                [
                    "keyId": "\(new.key.id)", "name": "\(name)",
                    "roles": "\(roles.map(\.rawValue).sorted().joined(separator: ","))",
                ], by: call.caller, in: request)
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("id", new.key.id)
                writer.member("key", new.text)
            }
            return .json(writer, status: .created, fields: [.cacheControl: "no-store"])
        }
    }
}

/// `{name, roles}`.
enum KeyBody {
    static func parse(_ body: [UInt8]) throws(JSONFaults) -> (name: String, roles: Set<Role>) {
        let document = try JSONDocument(body)
        let root = document.root.object()
        root?.refuseUnknownMembers(besides: ["name", "roles"])
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
        return (name ?? "", Set(roles ?? []))
    }
}

/// A new API key: `text` is shown once, in the response that creates it, and `key` is stored.
public struct NewKey: Sendable {
    public let text: String
    public let key: APIKey

    public init(of app: App, name: String, roles: Set<Role>) {
        let presented = PresentedKey()
        text = presented.text
        key = APIKey(
            id: presented.id, app: app.number, name: name, roles: roles, secretSHA256: presented.sha256,
            createdAt: Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)), revokedAt: nil)
    }
}
