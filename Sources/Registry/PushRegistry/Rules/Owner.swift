/// The user to whom an installation belongs, and the sign-in session if it has one.
public struct Owner: Hashable, Sendable {
    public struct Session: Hashable, Sendable {
        public let id: SessionID
        public let expiresAt: Timestamp?

        public init(id: SessionID, expiresAt: Timestamp?) {
            self.id = id
            self.expiresAt = expiresAt
        }
    }

    public let userID: UserID
    public let session: Session?

    public init(userID: UserID, session: Session? = nil) {
        self.userID = userID
        self.session = session
    }

    /// Whether user and session are the same. The session's expiry may differ.
    public func isSame(as other: Owner?) -> Bool {
        userID == other?.userID && session?.id == other?.session?.id
    }
}
