import Foundation

extension PushRegistryClient {
    /// What the registry knows of this installation.
    public enum State: Sendable, Hashable {
        /// The token or the sign-in is still missing, or the first registration is on its way.
        case notRegistered
        /// Registered. The client registers again before `until`, if it runs.
        case registered(until: Date)
        /// The registry, the network, the storage or the credential is not available. The client tries again by itself.
        case waiting(until: Date)
        /// The app signed the user out. The logout may still be queued.
        case signedOut
        /// The session was ended elsewhere: sign the user out in the app. No push arrives until the next `signIn`.
        case signedOutElsewhere
        /// The registry refuses the registration, and repeating it does not help: the app or its configuration has a
        /// fault.
        case misconfigured(Problem)
    }
}
