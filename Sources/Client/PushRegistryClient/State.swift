import Foundation

extension PushRegistryClient {
    /// The state of this installation at the registry.
    public enum State: Sendable, Hashable {
        /// The app has not reported a token or a sign-in yet, or the first registration is in progress.
        case notRegistered
        /// Registered. The client registers again before `until`, if it runs.
        case registered(until: Date)
        /// The system gave the app no token: the reason is that of `didFailToRegister`.
        case noToken(reason: String)
        /// The registry, the network, the storage or the credential is not available. The client tries again by itself.
        /// If an earlier registration is valid until `registeredUntil`, pushes arrive meanwhile.
        case waiting(until: Date, registeredUntil: Date?)
        /// The app signed the user out. The logout may still be queued.
        case signedOut
        /// The session was ended elsewhere: sign the user out in the app. No push arrives until the next `signIn`. The
        /// client learns of it with its next call, so up to a day later if nothing changes.
        case signedOutElsewhere
        /// The registry refuses the registration and would refuse it again: the app or its configuration has a fault.
        case misconfigured(Problem)
    }
}
