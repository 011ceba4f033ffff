// GET /console/v1/sign-in
// GET /console/v1/signed-in

import HTTPApplication
import HTTPTypes
import HTTPWire
import Logging
import PushRegistry

extension RegistryService {
    private static let callbackPattern = consolePattern + "/v1/signed-in"

    /// Leads a browser to the identity provider.
    var beginSignIn: Route {
        Route(.get, Self.consolePattern + "/v1/sign-in") { request in
            await signingIn(request) { provider, callback in
                let attempt = SignInAttempt(at: console.now())
                let address = try await provider.address(of: attempt, callback: callback)
                return ServerResponse(.seeOther, fields: [.location: address, .setCookie: attempt.field])
            }
        }
    }

    /// Where the identity provider leads the browser back. The browser's cookie of the attempt is used once.
    var endSignIn: Route {
        Route(.get, Self.callbackPattern) { request in
            var response = await signingIn(request) { provider, callback in
                try await signedIn(request, by: provider, callback)
            }
            response.fields.append(HTTPField(name: .setCookie, value: SignInAttempt.removal))
            return response
        }
    }

    private func signedIn(
        _ request: ServerRequest, by provider: IdentityProvider, _ callback: String
    ) async throws -> ServerResponse {
        let items = (try? request.head.queryItems()) ?? []
        let response = Dictionary(items.map { ($0.name, $0.value) }) { first, _ in first }
        guard let begun = request.head.cookie(SignInAttempt.name),
            let attempt = SignInAttempt(cookie: begun, at: console.now()),
            attempt.hasState(response["state"] ?? "")
        else { throw SignInFailure(.failed, "the response is not to a sign-in of this browser") }
        guard limits.admitsProvidedSignIn(from: request.clientAddress) else {
            throw SignInFailure(.tooMany, "too many sign-ins from this address")
        }
        let person = try await provider.person(response, to: attempt, callback: callback, at: console.now())
        let session = ConsoleSession(.person(person, signIn: attempt.sha256), at: console.now())
        let directory = try await directory.current()
        guard let caller = try? caller(of: session, in: directory) else {
            audit.refused(.forbidden(""), by: Caller(person, [], of: nil), request)
            return Self.page(.noRole)
        }
        let cookie = SessionCookie()
        guard try await console.sessions.add(session, sha256: cookie.sha256) else {
            throw SignInFailure(.failed, "the response was used before")
        }
        audit.changed("signed in to the console", [:], by: caller, in: request)
        return ServerResponse(.seeOther, fields: [.location: "../", .setCookie: cookie.field])
    }

    /// Lends the identity provider, and the address at which it leads browsers back. A failure becomes a notice of the
    /// page: a browser shows the response, not a script.
    private func signingIn(
        _ request: ServerRequest, _ body: (IdentityProvider, String) async throws -> ServerResponse
    ) async -> ServerResponse {
        do {
            guard let provider = console.provider, let origin = console.origin.origin(of: request.head) else {
                throw SignInFailure(.unavailable, "there is no identity provider")
            }
            return try await body(provider, origin + Self.callbackPattern)
        } catch let failure as SignInFailure {
            if limits.mayLogFailure(from: request.clientAddress) { audit.signInFailed(failure.reason, in: request) }
            return Self.page(failure.notice)
        } catch {
            logger.error("a sign-in failed", metadata: ["reason": "\(error)", "requestId": "\(request.requestID)"])
            return Self.page(.unavailable)
        }
    }

    /// The page with a notice. Relative, so that it is right behind a proxy, too.
    private static func page(_ notice: SignInFailure.Notice) -> ServerResponse {
        ServerResponse(.seeOther, fields: [.location: "../#sign-in=\(notice.rawValue)"])
    }
}
