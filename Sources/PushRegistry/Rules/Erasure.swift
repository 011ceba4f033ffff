/// The erasure of a user: `DELETE …/users/{userId}`.
///
/// The user's installations and their snapshots go, as do those that the user left on installations of others; all
/// sessions end, and history loses the user. What history keeps is a token's hash and the generations, so that what was
/// sent to a token can still be explained.
public struct Erasure: Sendable {
    public let app: AppNumber
    public let userID: UserID
    /// Who asked: the role and the key's id, never the user.
    public let actor: String

    public init(app: AppNumber, userID: UserID, actor: String) {
        self.app = app
        self.userID = userID
        self.actor = actor
    }

    /// What history tells of an installation that goes. It names nobody.
    public func event(removing present: Installation, at now: Timestamp) -> TokenEvent {
        let after = present.unbound(at: now)
        return TokenEvent(
            .erased, .userErased, by: actor, at: present.notBefore(now), from: present, to: after, previousUserID: nil)
    }

    /// What was removed.
    public struct Receipt: Sendable {
        public let installations: Int
        public let snapshots: Int
        /// The events that named the user.
        public let events: Int
        public let erasedAt: Timestamp

        public init(installations: Int, snapshots: Int, events: Int, erasedAt: Timestamp) {
            self.installations = installations
            self.snapshots = snapshots
            self.events = events
            self.erasedAt = erasedAt
        }
    }
}
