import PushRegistry
import Synchronization

/// The verifiers of the apps' policies: a policy's keys are parsed once, when it is first met, and not at each call.
final class UserTokenCache: Sendable {
    private struct Entry {
        let verifier: UserTokenVerifier
        /// When the identity provider's keys in it were fetched.
        let fetchedAt: ContinuousClock.Instant?
    }

    private let entries = Mutex<[AppNumber: Entry]>([:])

    /// - Parameter published: the keys of the app's identity provider.
    func verifier(of app: App, published: ProviderKeys.Current?) -> UserTokenVerifier {
        if let known = entries.withLock({ $0[app.number] }), known.fetchedAt == published?.fetchedAt,
            known.verifier.policy.hasKeysAndClaims(of: app.policy)
        {
            return known.verifier
        }
        let keys = UserTokenKeys(app.policy.jwks, and: published?.keys ?? [])
        let verifier = UserTokenVerifier(keys: keys, policy: app.policy)
        entries.withLock { $0[app.number] = Entry(verifier: verifier, fetchedAt: published?.fetchedAt) }
        return verifier
    }
}

extension AppPolicy {
    /// Comparing a text with itself costs a comparison of pointers, which is what this is until the policy changes.
    fileprivate func hasKeysAndClaims(of other: AppPolicy) -> Bool {
        jwks == other.jwks && jwksURL == other.jwksURL && jwtIssuer == other.jwtIssuer
            && jwtAudience == other.jwtAudience && sessionExpiryClaim == other.sessionExpiryClaim
            && allowsIncompleteTokens == other.allowsIncompleteTokens
    }
}
