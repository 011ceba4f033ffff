// POST /v1/apps/{app}/keys

import Foundation
import HTTPServer
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    static let keysPattern = "/v1/apps/{app}/keys"
    static let keyBytesMax = 4 * 1024

    var createKey: Route {
        Route(.post, Self.keysPattern, bodyBytesMax: Self.keyBytesMax) { request in
            let call = try await appCall(request, allowing: [.admin])
            let (name, roles) = try KeyBody.parse(try request.jsonBody())
            let presented = PresentedKey()
            try await directory.add(APIKey(presented, of: call.app, name: name, roles: roles))
            logger.notice("key created", metadata: ["keyId": "\(presented.id)", "app": "\(call.app.id)"])
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("id", presented.id)
                writer.member("key", presented.text)
            }
            return .json(writer, status: .created, fields: [.cacheControl: "no-store"])
        }
    }
}

extension APIKey {
    init(_ presented: PresentedKey, of app: App, name: String, roles: Set<Role>) {
        let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        self.init(
            id: presented.id, app: app.number, name: name, roles: roles, secretSHA256: presented.sha256, createdAt: now,
            revokedAt: nil)
    }
}

/// `{name, roles}`.
enum KeyBody {
    static func parse(_ body: [UInt8]) throws(JSONFaults) -> (name: String, roles: Set<Role>) {
        let document = try JSONDocument(body)
        let root = document.root.object()
        let name = root?.string("name", .required, scalarsMax: Device.textScalarsMax)
        let names = root?.array("roles", .required, elementsMax: Role.allCases.count)
        if let names, !names.contains(where: { _ in true }) { names.value.refuse(.required, "A key needs at least one role.") }
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
