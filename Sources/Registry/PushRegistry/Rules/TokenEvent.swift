/// One change of an installation's token, owner, session or state (R12). It contains the token's SHA-256, never the
/// token.
public struct TokenEvent: Hashable, Sendable {
    /// The reason for an event. Part of the API: stable.
    public enum Reason: String, Sendable {
        /// The user has more active installations than the policy allows.
        case limit
        case firstRegistration, tokenChanged, respelled, tokenMoved, ownerChanged, sessionChanged, comeback
        case deletedByCaller
        case loggedOut, userLoggedOut, sessionEnded, outdatedLogout, userErased
        /// Choices about topics: by a call of their own; by a registration; with the end of an owner's binding.
        case topicsPatched, topicsRegistered, topicsReset
        /// Feedback: the token is dead; the token is dead, but the installation was seen shortly before; the provider
        /// refuses the token; the app was reinstalled (R5).
        case tokenDead, recentlySeen, tokenRefused, reinstalled
        /// The token is reported as dead, but too many were in that hour; what feedback had retired was restored.
        case feedbackBreaker, feedbackRestored
        /// The clean-up: not seen for too long; a suspect that stayed silent; an expired session; the end of the
        /// retention; an undone run.
        case unseen, suspectSilent, sessionExpired, purged, cleanupUndone
        /// The kind of the typed token that another installation has got.
        case liveActivityStart, liveActivity, widget, voip, location, complication, fileProvider, pushToTalk
    }

    public let key: InstallationKey
    public let kind: EventKind
    public let reason: Reason
    /// The caller's role and key id, never the user.
    public let actor: String
    public let at: Timestamp
    public let provider: Provider
    public let tokenSHA256: [UInt8]?
    public let userID: UserID?
    public let previousUserID: UserID?
    public let state: InstallationState
    public let generationBefore: Int64
    public let generationAfter: Int64

    /// - Parameters:
    ///   - before: nil for a new installation.
    ///   - previousUserID: the former user of the token: of `before`, or of the installation that held the token.
    init(
        _ kind: EventKind, _ reason: Reason, by actor: String, at: Timestamp, from before: Installation?,
        to after: Installation, previousUserID: UserID?
    ) {
        self.init(
            after.key, kind, reason, by: actor, at: at, provider: after.provider,
            tokenSHA256: after.tokenSHA256 ?? before?.tokenSHA256, userID: after.owner?.userID,
            previousUserID: previousUserID, state: after.state, generationBefore: before?.generation ?? 0,
            generationAfter: after.generation)
    }

    public init(
        _ key: InstallationKey, _ kind: EventKind, _ reason: Reason, by actor: String, at: Timestamp,
        provider: Provider, tokenSHA256: [UInt8]?, userID: UserID?, previousUserID: UserID?, state: InstallationState,
        generationBefore: Int64, generationAfter: Int64
    ) {
        (self.key, self.kind, self.reason, self.actor) = (key, kind, reason, actor)
        (self.at, self.provider, self.tokenSHA256, self.userID) = (at, provider, tokenSHA256, userID)
        (self.previousUserID, self.state, self.generationBefore) = (previousUserID, state, generationBefore)
        self.generationAfter = generationAfter
    }
}

/// The kind of a change. Part of the API: stable.
public enum EventKind: String, CaseIterable, Hashable, Sendable {
    case registered, rotated, takenOver, superseded, loggedOut, sessionEnded, suspect, unregistered, stale
    case reactivated, deleted, erased, imported, logoutIgnored, topicsChanged, tokenMoved
}
