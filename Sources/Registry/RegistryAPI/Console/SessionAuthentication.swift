import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

/// How a call proves who its caller is.
enum Authentication: Sendable {
    /// `Authorization: Bearer`, for every call outside of the console. Cookies are not read.
    case bearer
    /// The session of the console's cookie, which was found and is alive. `Authorization` is not read. Whether its key
    /// is still valid is decided by the directory.
    case session(ConsoleSession)
}

/// What the groups of a person give on an app.
struct Grant {
    let app: App
    let roles: Set<Role>
}

extension RegistryService {
    /// The live session of a request's cookie; nil if there is none.
    ///
    /// - Throws: `APIError.tooManyFailedAuthentications`; `StoreError`.
    func session(
        of request: ServerRequest
    ) async throws -> (cookie: SessionCookie, session: ConsoleSession)? {
        guard let cookie = SessionCookie(request.head) else { return nil }
        guard let session = try await console.sessions.session(cookie.sha256) else {
            // A session that has ended is known for days: its cookie is no guess, and the response removes it.
            if let wait = limits.countGuess(from: request.clientAddress) {
                throw APIError.tooManyFailedAuthentications(retryAfter: wait)
            }
            return nil
        }
        if case .adminKey(let proof) = session.credential, !cookie.isProven(proof, by: admin) { return nil }
        return session.isAlive(at: console.now()) ? (cookie, session) : nil
    }

    /// The caller of a session, by the directory.
    ///
    /// - Parameter id: the app in the path.
    /// - Throws: `APIError.signedOut` if the key of the session was revoked or has expired, or if the person's groups
    ///   give nothing on any app.
    func caller(
        of session: ConsoleSession, on id: AppID? = nil, in directory: DirectorySnapshot
    ) throws(APIError) -> Caller {
        switch session.credential {
        case .adminKey: return .serverAdmin
        case .key(let id):
            let now = Timestamp.now()
            guard let key = directory.key(id), key.isValid(at: now) else { throw .signedOut }
            keyUses.record(id, at: now)
            return Caller(key)
        case .person(let person, _): return try caller(of: person, on: id, in: directory)
        }
    }

    /// Ends a refused session of a person for good, because the groups may get a role again. One of another provider is
    /// only refused: the setting of one process does not end the sessions of others.
    func end(_ session: ConsoleSession, of cookie: SessionCookie) async throws {
        guard case .person(let person, _) = session.credential, person.issuer == console.provider?.settings.issuer
        else { return }
        try await console.sessions.remove(cookie.sha256)
    }

    private func caller(
        of person: ConsolePerson, on id: AppID?, in directory: DirectorySnapshot
    ) throws(APIError) -> Caller {
        guard let settings = console.provider?.settings, settings.issuer == person.issuer else { throw .signedOut }
        if settings.isServerAdmin(person) { return .serverAdmin(person) }
        if let app = id.flatMap({ directory.apps[$0] }) {
            let roles = app.policy.roles(of: person)
            if !roles.isEmpty { return Caller(person, roles, of: app.number) }
        }
        let grants = directory.grants(of: person)
        guard let first = grants.first else { throw .signedOut }
        return Caller(
            person, grants.reduce(into: []) { $0.formUnion($1.roles) }, of: grants.count == 1 ? first.app.number : nil)
    }
}

extension JSONWriter {
    /// `{roles, provider?}`.
    static func signedOut(_ provider: IdentityProvider?) -> JSONWriter {
        return JSONWriter { writer in
            writer.member("roles", [String]())
            writer.provider(provider)
        }
    }

    /// `{app?, apps?, roles, name, expiresAt, idleUntil, provider?}`. A person with several apps has `apps`, and in
    /// `roles` those of all of them.
    init(
        _ session: ConsoleSession, of caller: Caller, _ provider: IdentityProvider?, in directory: DirectorySnapshot
    ) {
        self.init()
        let key = caller.keyID.flatMap { directory.key($0) }
        let grants = caller.isServerAdmin ? [] : caller.person.map(directory.grants) ?? []
        object { writer in
            if let app = caller.app { writer.member("app", directory.id(of: app)?.rawValue) }
            if grants.count > 1 {
                writer.array("apps", grants) { $0.grant($1) }
            }
            let roles = key?.roles ?? grants.reduce(into: []) { $0.formUnion($1.roles) }
            writer.member("roles", (caller.isServerAdmin ? [.admin] : roles).map(\.rawValue).sorted())
            writer.member("name", key?.name ?? caller.person?.name ?? "admin")
            writer.member("expiresAt", session.expiresAt.description)
            writer.member("idleUntil", session.idleUntil.description)
            writer.provider(provider)
        }
    }

    private mutating func grant(_ grant: Grant) {
        object { writer in
            writer.member("app", grant.app.id.rawValue)
            writer.member("roles", grant.roles.map(\.rawValue).sorted())
        }
    }

    /// By which the page offers to sign in.
    private mutating func provider(_ provider: IdentityProvider?) {
        guard let settings = provider?.settings else { return }
        object("provider") { writer in
            writer.member("issuer", settings.issuer)
            writer.member("groupsClaim", settings.groupsClaim)
        }
    }
}

extension DirectorySnapshot {
    /// The apps on which the groups of a person give a role, in the order of their ids.
    func grants(of person: ConsolePerson) -> [Grant] {
        apps.values.map { Grant(app: $0, roles: $0.policy.roles(of: person)) }.filter { !$0.roles.isEmpty }
            .sorted { $0.app.id.rawValue < $1.app.id.rawValue }
    }

    /// Also of an app whose policy cannot be used.
    func id(of number: AppNumber) -> AppID? {
        app(number)?.id ?? unusable.values.first { $0.number == number }?.id
    }
}
