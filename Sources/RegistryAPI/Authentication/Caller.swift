import HTTPServer
import HTTPTypes
import HTTPWire
import PushRegistry

/// Who calls, as far as the credential tells.
struct Caller {
    /// The admin key's holder has all roles on all apps.
    let isMaster: Bool
    let roles: Set<Role>
    /// The app that the key belongs to; nil for the admin key.
    let app: AppNumber?
    let keyID: String?

    static let master = Caller(isMaster: true, roles: Set(Role.allCases), app: nil, keyID: nil)

    init(_ key: APIKey) {
        // An app's admin may do everything on its app.
        self.init(
            isMaster: false, roles: key.roles.contains(.admin) ? Set(Role.allCases) : key.roles, app: key.app,
            keyID: key.id)
    }

    private init(isMaster: Bool, roles: Set<Role>, app: AppNumber?, keyID: String?) {
        self.isMaster = isMaster
        self.roles = roles
        self.app = app
        self.keyID = keyID
    }

    func has(any wanted: Set<Role>) -> Bool { !roles.isDisjoint(with: wanted) }

    /// Whether the caller speaks for the app's back end, and so for any of its users.
    var isService: Bool { roles.contains(.service) }

    /// Whom an event names: role and key, never the user.
    var actor: String {
        guard let keyID else { return "admin" }
        return (isService ? "service:" : "client:") + keyID
    }
}

/// A call on an app by somebody who may make it.
struct AppCall {
    let app: App
    let caller: Caller
    let directory: DirectorySnapshot
}

extension RegistryService {
    /// The caller of a request, whatever it is about.
    ///
    /// - Throws: `APIError.missingCredential`, `.invalidCredential`; `StoreError`.
    func caller(_ request: ServerRequest) async throws -> (Caller, DirectorySnapshot) {
        let credential = try credential(request)
        let directory = try await directory.current()
        if admin.matches(credential) { return (.master, directory) }
        guard let presented = PresentedKey(credential), let key = directory.key(presented.id), key.revokedAt == nil,
            presented.matches(key.secretSHA256)
        else { throw APIError.invalidCredential }
        return (Caller(key), directory)
    }

    /// The call on the app that the path names, by a caller with one of these roles.
    ///
    /// - Throws: 401, 404 and 403 in this order, as `APIError`; `StoreError`.
    func appCall(_ request: ServerRequest, allowing roles: Set<Role>) async throws -> AppCall {
        let (caller, directory) = try await caller(request)
        guard let id = try? AppID(request.parameters["app"]), let app = directory.apps[id],
            caller.isMaster || caller.app == app.number
        else { throw APIError.unknownApp }
        guard caller.has(any: roles) else {
            let names = roles.map(\.rawValue).sorted().joined(separator: " or ")
            throw APIError.forbidden("This needs a key with the role \(names).")
        }
        return AppCall(app: app, caller: caller, directory: directory)
    }

    private func credential(_ request: ServerRequest) throws -> String {
        guard let field = request.head.bytes(of: .authorization) else { throw APIError.missingCredential }
        let scheme = field.prefix { $0 != UInt8(ascii: " ") }
        guard scheme.equalsIgnoringCase("bearer") else { throw APIError.invalidCredential }
        return String(decoding: field.dropFirst(scheme.count + 1), as: UTF8.self)
    }
}
