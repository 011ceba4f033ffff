import PushRegistry
import Synchronization

/// The verifiers of the apps' policies: a policy's keys are parsed once, when it is first met, and not at each call.
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
    /// Comparing a text with itself costs a comparison of pointers, which is what this is until the policy changes.
    fileprivate func hasKeysAndClaims(of other: AppPolicy) -> Bool {
        jwks == other.jwks && jwtIssuer == other.jwtIssuer && jwtAudience == other.jwtAudience
            && sessionExpiryClaim == other.sessionExpiryClaim
            && allowsIncompleteTokens == other.allowsIncompleteTokens
    }
}
