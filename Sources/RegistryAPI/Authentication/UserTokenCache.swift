import PushRegistry
import Synchronization

/// Caches a verifier for each app, so that the keys of a policy are parsed once and not at each call.
final class UserTokenCache: Sendable {
    private let verifiers = Mutex<[AppNumber: UserTokenVerifier]>([:])

    func verifier(of app: App) -> UserTokenVerifier {
        if let known = verifiers.withLock({ $0[app.number] }), known.policy.hasKeysAndClaims(of: app.policy) {
            return known
        }
        let verifier = UserTokenVerifier(keys: UserTokenKeys(app.policy.jwks), policy: app.policy)
        verifiers.withLock { $0[app.number] = verifier }
        return verifier
    }
}

extension AppPolicy {
    /// Cheap until the policy changes: comparing a string with itself compares pointers.
    fileprivate func hasKeysAndClaims(of other: AppPolicy) -> Bool {
        jwks == other.jwks && jwtIssuer == other.jwtIssuer && jwtAudience == other.jwtAudience
            && sessionExpiryClaim == other.sessionExpiryClaim
            && allowsIncompleteTokens == other.allowsIncompleteTokens
    }
}
