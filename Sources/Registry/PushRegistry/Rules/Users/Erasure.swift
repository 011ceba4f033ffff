/// The erasure of a user: `DELETE …/users/{userId}`.
///
/// It deletes the user's installations with their snapshots, and the user's snapshots of installations that now belong
/// to others. It ends all sessions and removes the user from history. History keeps the token's hash and the
/// generations, which explain later what was sent to a token.
public struct Erasure: Sendable {
    public let app: AppNumber
    public let userID: UserID
    /// The caller's role and key id, never the user.
    public let actor: String

    /// The key by which the app's receipts name installations.
    public let identityKey: AppIdentityKey

    public init(
        app: AppNumber, userID: UserID, actor: String, identityKey: AppIdentityKey = AppIdentityKey(bytes: [])
    ) {
        (self.app, self.identityKey, self.userID, self.actor) = (app, identityKey, userID, actor)
    }

    /// The event of an installation that is deleted. It names no user.
    public func event(removing present: Installation, at now: Timestamp) -> TokenEvent {
        let after = present.unbound(at: now)
        return TokenEvent(
            .erased, .userErased, by: actor, at: present.notBefore(now), from: present, to: after, previousUserID: nil)
    }

    /// The numbers of deleted and changed rows.
    public struct Receipt: Sendable {
        public let installations: Int
        public let snapshots: Int
        /// Events from which the user was removed.
        public let events: Int
        /// Choices about topics: the user's, and those on the deleted installations.
        public let topics: Int
        /// Receipts of the user's installations from which personal data was deleted.
        public let receipts: Int
        /// Recorded targets of messages that were deleted.
        public let targets: Int
        /// Notifications that waited for the user's installations.
        public let notifications: Int
        public let erasedAt: Timestamp

        public init(
            installations: Int, snapshots: Int, events: Int, topics: Int = 0, receipts: Int = 0, targets: Int = 0,
            notifications: Int = 0, erasedAt: Timestamp
        ) {
            (self.installations, self.snapshots, self.events) = (installations, snapshots, events)
            (self.topics, self.receipts, self.targets) = (topics, receipts, targets)
            (self.notifications, self.erasedAt) = (notifications, erasedAt)
        }
    }
}
