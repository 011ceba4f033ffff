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

/// Who is signed in.
struct SignedInPerson {
    let caller: Caller
    /// Nil for the admin key.
    let key: APIKey?
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
    /// - Throws: `APIError.signedOut` if the key of the session was revoked or has expired.
    func caller(
        of session: ConsoleSession, in directory: DirectorySnapshot
    ) throws(APIError) -> SignedInPerson {
        guard case .key(let id) = session.credential else { return SignedInPerson(caller: .serverAdmin, key: nil) }
        let now = Timestamp.now()
        guard let key = directory.key(id), key.isValid(at: now) else { throw .signedOut }
        keyUses.record(id, at: now)
        return SignedInPerson(caller: Caller(key), key: key)
    }
}

extension JSONWriter {
    static var signedOut: JSONWriter {
        var writer = JSONWriter()
        writer.object { $0.member("roles", [String]()) }
        return writer
    }

    /// `{app?, roles, name, expiresAt, idleUntil}`.
    init(_ session: ConsoleSession, _ person: SignedInPerson, in directory: DirectorySnapshot) {
        self.init()
        object { writer in
            if let key = person.key { writer.member("app", directory.id(of: key.app)?.rawValue) }
            writer.member("roles", person.key.map { $0.roles.map(\.rawValue).sorted() } ?? [Role.admin.rawValue])
            writer.member("name", person.key?.name ?? "admin")
            writer.member("expiresAt", session.expiresAt.description)
            writer.member("idleUntil", session.idleUntil.description)
        }
    }
}

extension DirectorySnapshot {
    /// Also of an app whose policy cannot be used.
    func id(of number: AppNumber) -> AppID? {
        app(number)?.id ?? unusable.values.first { $0.number == number }?.id
    }
}
