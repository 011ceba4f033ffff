/// An event as it was recorded. A newer version of the service may have written it, so `kind`, `reason` and the like
/// are texts.
public struct RecordedEvent: Sendable {
    public let cursor: EventCursor
    public let at: Timestamp
    public let kind: String
    public let reason: String
    public let actor: String
    /// Nil, as the other values of an installation, if the event concerns the choices of a user.
    public let installID: String?
    public let provider: String?
    public let tokenSHA256: [UInt8]?
    public let userID: String?
    public let previousUserID: String?
    public let state: String?
    public let generationBefore: Int64?
    public let generationAfter: Int64?
    /// The topics whose choice changed; nil for events of another kind.
    public let topics: [String]?

    public init(
        cursor: EventCursor, at: Timestamp, kind: String, reason: String, actor: String, installID: String?,
        provider: String?, tokenSHA256: [UInt8]?, userID: String?, previousUserID: String?, state: String?,
        generationBefore: Int64?, generationAfter: Int64?, topics: [String]?
    ) {
        self.cursor = cursor
        self.at = at
        self.kind = kind
        self.reason = reason
        self.actor = actor
        self.installID = installID
        self.provider = provider
        self.tokenSHA256 = tokenSHA256
        self.userID = userID
        self.previousUserID = previousUserID
        self.state = state
        self.generationBefore = generationBefore
        self.generationAfter = generationAfter
        self.topics = topics
    }
}

/// A page of history, newest first.
public struct EventPage: Sendable {
    public let events: [RecordedEvent]
    /// Where the next page begins; nil at the end.
    public let next: EventCursor?

    public init(events: [RecordedEvent], next: EventCursor?) {
        self.events = events
        self.next = next
    }
}
