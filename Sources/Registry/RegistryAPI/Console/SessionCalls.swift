// GET /console/v1/session
// POST /console/v1/session
// DELETE /console/v1/session

import Basics
import Crypto
import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    static let sessionPattern = consolePattern + "/v1/session"
    static let signInBytesMax = 4 * 1024

    /// Who is signed in. Reading it does not prolong the session.
    var getSession: Route {
        Route(.get, Self.sessionPattern) { request in
            guard let (cookie, session) = try await session(of: request) else { return signedOut(request) }
            let directory = try await directory.current()
            guard let caller = try? caller(of: session, in: directory) else {
                try await end(session, of: cookie)
                return signedOut(request)
            }
            return .json(JSONWriter(session, of: caller, console.provider, in: directory))
        }
    }

    /// The browser forgets the cookie of a session that has ended.
    private func signedOut(_ request: ServerRequest) -> ServerResponse {
        let hasCookie = SessionCookie(request.head) != nil
        return .json(
            JSONWriter.signedOut(console.provider), fields: hasCookie ? [.setCookie: SessionCookie.removal] : [:])
    }

    /// Exchanges a key, or the code of a link, for a session. A former session of the browser ends.
    var signIn: Route {
        let route = Route(.post, Self.sessionPattern, bodyBytesMax: Self.signInBytesMax) { request in
            let body = try SignInBody.parse(try request.jsonBody())
            let directory = try await directory.current()
            let cookie = SessionCookie()
            guard let credential = credential(body, request, in: directory, for: cookie) else {
                try limits.countFailedSignIn(from: request.clientAddress)
                throw APIError.invalidCredential
            }
            let session = ConsoleSession(credential, at: console.now())
            // The key of a code, or the presented one, may be revoked.
            guard let caller = try? caller(of: session, in: directory) else { throw APIError.endedKey }
            guard caller.roles != [.client] else {
                throw RefusedCall(
                    .forbidden("This key is for apps and may be published: it cannot sign in. Use another key."),
                    caller)
            }
            if let former = SessionCookie(request.head) { try await console.sessions.remove(former.sha256) }
            try await console.sessions.add(session, sha256: cookie.sha256)
            audit.changed("signed in to the console", [:], by: caller, in: request)
            return .json(
                JSONWriter(session, of: caller, console.provider, in: directory), fields: [.setCookie: cookie.field])
        }
        // The key is in the body.
        return route.admitting { _ in ServerResponse(.continue) }
    }

    var signOut: Route {
        Route(.delete, Self.sessionPattern) { request in
            if let cookie = SessionCookie(request.head) { try await console.sessions.remove(cookie.sha256) }
            return ServerResponse(.noContent, fields: [.setCookie: SessionCookie.removal])
        }
    }

    /// What the person proves to have; nil if the key or code is wrong.
    private func credential(
        _ body: SignInBody, _ request: ServerRequest, in directory: DirectorySnapshot, for cookie: SessionCookie
    ) -> ConsoleSession.Credential? {
        switch body {
        case .code(let code):
            guard request.clientAddress.isLoopback, let id = console.codes.redeem(code, at: console.now()) else {
                return nil
            }
            return .key(id)
        case .key(let text, let app):
            if let presented = PresentedKey(text), let key = directory.key(presented.id),
                presented.matches(key.secretSHA256), app == nil || app == directory.id(of: key.app)?.rawValue
            {
                return .key(key.id)
            }
            guard admin.matches(text) else { return nil }
            return .adminKey(proof: cookie.proof(of: admin))
        }
    }
}

/// `{app, key}`, `{key}` or `{code}`.
private enum SignInBody {
    case key(String, app: String?)
    case code(String)

    /// Longer than any key. An admin key is chosen by the operator.
    private static let secretScalarsMax = 1_024

    static func parse(_ body: [UInt8]) throws -> SignInBody {
        try JSONObject.read(body) { root in
            let code = root.string("code", scalarsMax: secretScalarsMax)
            let app = root.string("app", scalarsMax: secretScalarsMax)
            let key = root.string("key", code == nil ? .required : .optional, scalarsMax: secretScalarsMax)
            return code.map { SignInBody.code($0) } ?? key.map { SignInBody.key($0, app: app) }
        }
    }
}

/// The one-time code of a link that `serve --demo` prints. It signs in the first person who opens it on this machine,
/// with the key of the demo app. There is one code at a time.
public final class OneTimeCodes: Sendable {
    /// The time to open the link.
    public static let lifetime = ISO8601Duration(seconds: 15 * 60)

    private struct Code: Sendable {
        let sha256: [UInt8]
        let keyID: String
        let expiresAt: Timestamp
    }

    private let code = Locked<Code?>(nil)

    public init() {}

    /// Replaces the code.
    ///
    /// - Returns: the code, to be shown once.
    public func issue(for keyID: String, at now: Timestamp) -> String {
        let text = String(hex: SymmetricKey(size: .bits256))
        let new = Code(
            sha256: Self.digest(text), keyID: keyID, expiresAt: now.advanced(by: Self.lifetime))
        code.withLock { $0 = new }
        return text
    }

    /// Uses the code up.
    ///
    /// - Returns: the id of the key; nil if the code is not this one, was used, or has expired.
    func redeem(_ text: String, at now: Timestamp) -> String? {
        code.withLock { code in
            guard let known = code, SHA256.hash(data: Array(text.utf8)) == known.sha256 else { return nil }
            code = nil
            return now < known.expiresAt ? known.keyID : nil
        }
    }

    private static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}
