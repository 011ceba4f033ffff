/// Where the history of tokens is read (R12).
public protocol EventStore: Sendable {
    /// The events of an installation, newest first; nil where there is neither an installation nor an event of one.
    ///
    /// - Throws: `EventRefusal`, `StoreError`.
    func events(of key: InstallationKey, before: EventCursor?, limit: Int) async throws -> EventPage?

    /// The events that name a token, and those by which its holder left it for another, newest first.
    ///
    /// - Throws: `EventRefusal`, `StoreError`.
    func events(of token: TokenAddress, before: EventCursor?, limit: Int) async throws -> EventPage

    /// The app's events in the order of their transactions. A reader that goes on at the last one's cursor misses no
    /// event and sees none twice, in whatever order transactions commit.
    ///
    /// - Throws: `EventRefusal`, `StoreError`.
    func changes(of app: AppNumber, after: EventCursor?, limit: Int) async throws -> [RecordedEvent]

    /// The present end of the feed: `changes` after it begin with the first event that the feed does not show yet.
    ///
    /// - Throws: `StoreError`.
    func latestChange(of app: AppNumber) async throws -> EventCursor
}

/// Why the feed or a history cannot go on from a cursor.
public enum EventRefusal: Error, Hashable, Sendable {
    /// The database is not the one that gave the cursor, and numbers its events otherwise; or, in the feed, what
    /// followed the cursor's event is not kept any more. A history goes backwards: what it still has is all there, and
    /// an end is an end.
    case cursorExpired
}
