import HTTPApplication
import HTTPTypes
import HTTPWire
import PushRegistry

/// The authenticated caller.
final class Caller: Sendable {
    /// Whether the credential is the admin key, or a person of the group that has its rights: all roles on all apps.
    let isServerAdmin: Bool
    let roles: Roles
    /// The app that the credential belongs to; nil for the admin key, and for a person outside of an app's calls.
    let app: AppNumber?
    /// The id of the API key, or of the key that signed the JWT.
    let keyID: String?
    /// The verified JWT; nil for a key.
    let user: UserToken?
    /// Who has signed in to the console by the identity provider; nil for another credential.
    let person: ConsolePerson?
    /// The role in events and in the audit log: the key's first one.
    private let namedRole: Role

    static let serverAdmin = Caller(isServerAdmin: true, roles: .all)

    convenience init(_ key: APIKey) {
        let roles = Roles(key.roles)
        // The role admin includes all other roles.
        self.init(
            roles: roles.contains(.admin) ? .all : roles, app: key.app, keyID: key.id,
            namedRole: Self.rolesByRank.first(where: roles.contains) ?? .client)
    }

    private static let rolesByRank: [Role] = [.admin, .service, .client, .sender, .marketing, .support]

    /// - Parameter app: that the roles are for; nil for a call outside of the apps.
    convenience init(_ person: ConsolePerson, _ roles: Set<Role>, of app: AppNumber?) {
        let roles = Roles(roles)
        self.init(roles: roles.contains(.admin) ? .all : roles, app: app, person: person)
    }

    /// A person of the group that has the rights of the admin key.
    static func serverAdmin(_ person: ConsolePerson) -> Caller {
        Caller(isServerAdmin: true, roles: .all, person: person)
    }

    convenience init(_ token: UserToken, of app: AppNumber) {
        self.init(roles: [.client], app: app, keyID: token.keyID ?? "jwt", user: token, namedRole: .client)
    }

    private init(
        isServerAdmin: Bool = false, roles: Roles, app: AppNumber? = nil, keyID: String? = nil, user: UserToken? = nil,
        person: ConsolePerson? = nil, namedRole: Role = .admin
    ) {
        (self.isServerAdmin, self.roles, self.app, self.keyID) = (isServerAdmin, roles, app, keyID)
        (self.user, self.person, self.namedRole) = (user, person, namedRole)
    }

    func has(any wanted: Roles) -> Bool { !roles.isDisjoint(with: wanted) }

    /// The user and session of a JWT, which a logout can end; nil for a key.
    var credential: UserCredential? { user.map { UserCredential(owner: $0.owner, issuedAt: $0.issuedAt) } }

    /// - Throws: 403.
    func requireAdmin() throws(RefusedCall) {
        guard !has(any: [.admin]) else { return }
        throw RefusedCall(.forbidden("This requires a key with the role admin."), self)
    }

    /// Whether the caller is the app's back end, which may act for any user.
    var isService: Bool { roles.contains(.service) }

    /// Whether the caller is a client without a user.
    var hasPublishableKey: Bool { user == nil && !isService }

    /// Whether the caller may read any user's installations.
    var readsAllUsers: Bool { has(any: [.service, .support]) }

    /// By name: `admin` alone if it is one of them, because it includes the others.
    var namedRoles: [Role] { has(any: [.admin]) ? [.admin] : Role.allCases.filter { roles.contains($0) } }

    /// The actor of an event: role and key id, or the person in the console; never the user.
    var actor: String {
        if let person { return "person:\(person.subject)" }
        return keyID.map { "\(namedRole.rawValue):\($0)" } ?? "admin"
    }
}

/// An authorized call on an app.
final class AppCall: Sendable {
    let app: App
    let caller: Caller
    let directory: DirectorySnapshot

    init(app: App, caller: Caller, directory: DirectorySnapshot) {
        (self.app, self.caller, self.directory) = (app, caller, directory)
    }
}

extension RegistryService {
    /// Authenticates the caller of a request.
    ///
    /// - Parameters:
    ///   - appID: the app in the path, whose keys verify JWTs.
    ///   - lateness: how long after its expiry a JWT is still accepted.
    /// - Throws: `APIError.missingCredential`, `.invalidCredential`, `.endedKey`, `.invalidUserToken`; `StoreError`.
    func caller(
        _ request: ServerRequest, on appID: AppID? = nil, lateness: ISO8601Duration = ISO8601Duration(seconds: 0)
    ) async throws -> (Caller, DirectorySnapshot) {
        let directory = try await currentDirectory(for: request)
        let found = try await keySets.fetchingMissingKey {
            try caller(request, on: appID, lateness: lateness, in: directory)
        }
        return (found, directory)
    }

    /// The current directory, for a request with a credential.
    ///
    /// - Throws: `APIError.missingCredential`, before the database is read; `StoreError`.
    func currentDirectory(for request: ServerRequest) async throws -> DirectorySnapshot {
        if case .bearer = authentication { _ = try credential(request) }
        return try await directory.current()
    }

    private func caller(
        _ request: ServerRequest, on appID: AppID?, lateness: ISO8601Duration, in directory: DirectorySnapshot
    ) throws -> Caller {
        if case .session(let session) = authentication { return try caller(of: session, on: appID, in: directory) }
        let (bytes, now) = (try credential(request), Timestamp.now())
        if let known = verifiedKeys.caller(of: bytes, in: directory, at: now) { return known }
        let credential = String(decoding: bytes, as: UTF8.self)
        if let presented = PresentedKey(credential), let key = directory.key(presented.id),
            presented.matches(key.secretSHA256)
        {
            guard key.isValid(at: now) else { throw APIError.endedKey }
            return verifiedKeys.insert(key, bytes, in: directory, at: now)
        }
        if admin.matches(credential) { return .serverAdmin }
        guard credential.contains(".") else { throw APIError.invalidCredential }
        // A 401 would sign users out although their JWTs may be valid. Nothing is known of the caller yet.
        if let appID, directory.unusable[appID] != nil { throw APIError.unusablePolicy(nil) }
        guard let app = appID.flatMap({ directory.apps[$0] }) else { throw APIError.invalidCredential }
        let verifier = userTokens.verifier(of: app, published: keySets.current(of: app))
        do throws(UserTokenFault) {
            return Caller(try verifier.verify(credential, at: now, lateness: lateness), of: app.number)
        } catch {
            if app.policy.jwksURL != nil, verifier.mayNeedAnotherKey(credential, refusedFor: error) {
                throw MissingKey(app: app, fault: error)
            }
            throw APIError.invalidUserToken(error)
        }
    }

    /// A route below an app, for callers who have one of the roles. A body that does not fit into the connection's own
    /// memory is read only for them.
    ///
    /// - Parameters:
    ///   - lateness: how long after its expiry a JWT is still accepted.
    ///   - handler: called after the call is authorized and counted: 401, 404, 403 and 429, checked in this order.
    func appRoute(
        _ method: HTTPRequest.Method, _ pattern: String, allowing roles: Roles,
        lateness: ISO8601Duration = ISO8601Duration(seconds: 0), bodyBytesMax: Int = 0,
        handler: @escaping @Sendable (ServerRequest, AppCall) async throws -> ServerResponse
    ) -> Route {
        let route = Route(method, pattern, bodyBytesMax: bodyBytesMax) { request in
            let call = try await authorized(request, allowing: roles, lateness: lateness)
            try count(call, in: request)
            return try await handler(request, call)
        }
        return route.admitting(admission(allowing: roles, lateness: lateness))
    }

    /// The check of a request's head: whether its credential fits the app and the roles.
    func admission(allowing roles: Roles, lateness: ISO8601Duration = ISO8601Duration(seconds: 0)) -> Handler {
        { request in
            _ = try await authorized(request, allowing: roles, lateness: lateness)
            return ServerResponse(.continue)
        }
    }

    private func authorized(
        _ request: ServerRequest, allowing roles: Roles, lateness: ISO8601Duration
    ) async throws -> AppCall {
        let directory = try await currentDirectory(for: request)
        return try await keySets.fetchingMissingKey {
            try authorized(request, allowing: roles, lateness: lateness, in: directory)
        }
    }

    /// Authorizes a call by a directory that may be outdated, and counts it.
    ///
    /// - Parameter isCounted: whether the call was counted, when it is authorized once more by a newer directory.
    /// - Throws: `APIError`: 401, 404, 403 and 429, checked in this order; `MissingKey`.
    func appCall(
        _ request: ServerRequest, allowing roles: Roles, in directory: DirectorySnapshot, isCounted: inout Bool
    ) throws -> AppCall {
        let call = try authorized(request, allowing: roles, lateness: ISO8601Duration(seconds: 0), in: directory)
        if !isCounted { try count(call, in: request) }
        isCounted = true
        return call
    }

    private func count(_ call: AppCall, in request: ServerRequest) throws {
        try limits.admit(call.caller, from: request.clientAddress, to: call.app)
    }

    private func authorized(
        _ request: ServerRequest, allowing roles: Roles, lateness: ISO8601Duration, in directory: DirectorySnapshot
    ) throws -> AppCall {
        let id = try? AppID(request.parameters["app"])
        let caller = try caller(request, on: id, lateness: lateness, in: directory)
        let number = id.flatMap { directory.apps[$0]?.number ?? directory.unusable[$0]?.number }
        guard let id, let number, caller.isServerAdmin || caller.app == number else {
            throw RefusedCall(.unknownApp, caller)
        }
        guard caller.has(any: roles) else {
            throw RefusedCall(.forbidden("This requires a key with the role \(roles.list)."), caller)
        }
        guard let app = directory.apps[id] else {
            throw APIError.unusablePolicy(directory.unusable[id]?.reason)
        }
        return AppCall(app: app, caller: caller, directory: directory)
    }

    /// The bytes behind `Authorization: Bearer`.
    ///
    /// - Throws: `APIError.missingCredential`, also for another scheme.
    func credential(_ request: ServerRequest) throws -> ArraySlice<UInt8> {
        guard let field = request.head.bytes(of: .authorization) else { throw APIError.missingCredential }
        let scheme = field.prefix { $0 != UInt8(ascii: " ") }
        guard scheme.equalsIgnoringCase("bearer") else { throw APIError.missingCredential }
        return field.dropFirst(scheme.count + 1)
    }
}

/// A set of roles, as bits: every call asks which of them its caller has.
struct Roles: OptionSet {
    let rawValue: UInt8

    static let client = Roles(.client)
    static let service = Roles(.service)
    static let sender = Roles(.sender)
    static let marketing = Roles(.marketing)
    static let support = Roles(.support)
    static let admin = Roles(.admin)
    static let all = Roles(Role.allCases)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(_ roles: some Sequence<Role>) {
        self = roles.reduce(into: []) { $0.insert(Roles($1)) }
    }

    private init(_ role: Role) {
        rawValue =
            switch role {
            case .client: 1
            case .service: 2
            case .sender: 4
            case .marketing: 8
            case .support: 16
            case .admin: 32
            }
    }

    func contains(_ role: Role) -> Bool { contains(Roles(role)) }

    /// The names for an error: `marketing, sender or admin`. An admin may do all.
    var list: String {
        let names = Role.allCases.filter { contains($0) && $0 != .admin }.map(\.rawValue).sorted()
        return names.isEmpty ? "admin" : names.joined(separator: ", ") + " or admin"
    }
}
