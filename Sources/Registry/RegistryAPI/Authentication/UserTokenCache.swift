import Basics
import PushRegistry

/// Caches a verifier for each app, so that the keys of a policy are parsed once and not at each call.
final class UserTokenCache: Sendable {
    private struct Entry {
        let verifier: UserTokenVerifier
        /// When the identity provider's keys of the verifier were fetched.
        let fetchedAt: ContinuousClock.Instant?
    }

    private let entries = Locked<[AppNumber: Entry]>([:])

    /// - Parameter published: the keys of the app's identity provider.
    func verifier(of app: App, published: ProviderKeys.Current?) -> UserTokenVerifier {
        if let known = entries.withLock({ $0[app.number] }), known.fetchedAt == published?.fetchedAt,
            known.verifier.policy.hasKeysAndClaims(of: app.policy)
        {
            return known.verifier
        }
        let keys = UserTokenKeys(app.policy.jwks?.text, and: published?.keys ?? [])
        let verifier = UserTokenVerifier(keys: keys, policy: app.policy)
        entries.withLock { $0[app.number] = Entry(verifier: verifier, fetchedAt: published?.fetchedAt) }
        return verifier
    }
}

extension AppPolicy {
    /// Cheap until the policy changes: comparing a text with itself compares pointers.
    fileprivate func hasKeysAndClaims(of other: AppPolicy) -> Bool {
        jwks == other.jwks && jwksURL == other.jwksURL && jwtIssuer == other.jwtIssuer
            && jwtAudience == other.jwtAudience && sessionExpiryClaim == other.sessionExpiryClaim
            && allowsIncompleteTokens == other.allowsIncompleteTokens
    }
}
