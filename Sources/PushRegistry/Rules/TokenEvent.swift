/// One change of an installation's token, owner, session or state (R12). It names the token by its SHA-256 only.
public struct TokenEvent: Hashable, Sendable {
    /// Why it happened, in a stable word.
    public enum Reason: String, Sendable {
        case firstRegistration, tokenChanged, tokenMoved, ownerChanged, sessionChanged, comeback, deletedByCaller
        case loggedOut, userLoggedOut, sessionEnded, outdatedLogout, userErased
        /// Feedback: the provider says that the token is dead; it says so, but the installation was seen shortly
        /// before; it refuses the token; the app was installed anew (R5).
        case tokenDead, recentlySeen, tokenRefused, reinstalled
        /// The night job: not seen for too long; a suspect that stayed silent; the session's time is up; kept long
        /// enough; a run undone.
        case unseen, suspectSilent, sessionExpired, purged, cleanupUndone
    }

    public let key: InstallationKey
    public let kind: EventKind
    public let reason: Reason
    /// Who asked: the role and the key's id, never the user.
    public let actor: String
    public let at: Timestamp
    public let provider: Provider
    public let tokenSHA256: [UInt8]?
    public let userID: UserID?
    public let previousUserID: UserID?
    public let state: InstallationState
    public let generationBefore: Int64
    public let generationAfter: Int64

    /// The event of a step from `before` (nil: it began) to `after`. `previousUserID` is whose token it was: the user
    /// of `before`, or of the installation that the token came from.
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

    init(
        _ key: InstallationKey, _ kind: EventKind, _ reason: Reason, by actor: String, at: Timestamp,
        provider: Provider, tokenSHA256: [UInt8]?, userID: UserID?, previousUserID: UserID?, state: InstallationState,
        generationBefore: Int64, generationAfter: Int64
    ) {
        self.key = key
        self.kind = kind
        self.reason = reason
        self.actor = actor
        self.at = at
        self.provider = provider
        self.tokenSHA256 = tokenSHA256
        self.userID = userID
        self.previousUserID = previousUserID
        self.state = state
        self.generationBefore = generationBefore
        self.generationAfter = generationAfter
    }
}
