/// Reads the history of tokens (R12).
public protocol EventStore: Sendable {
    /// The events of an installation, newest first; nil if there is neither the installation nor an event of it.
    ///
    /// - Throws: `EventRefusal`, `StoreError`.
    func events(of key: InstallationKey, before: EventCursor?, limit: Int) async throws -> EventPage?

    /// The events of a token, and those by which its holder changed to another token, newest first.
    ///
    /// - Throws: `EventRefusal`, `StoreError`.
    func events(of token: TokenAddress, before: EventCursor?, limit: Int) async throws -> EventPage

    /// The app's events in the order of their transactions. A reader that continues at the last cursor gets
    /// every event once, in whatever order transactions commit.
    ///
    /// - Throws: `EventRefusal`, `StoreError`.
    func changes(of app: AppNumber, after: EventCursor?, limit: Int) async throws -> [RecordedEvent]

    /// The current end of the feed: `changes` after it begin with the first event that the feed does not show yet.
    ///
    /// - Throws: `StoreError`.
    func latestChange(of app: AppNumber) async throws -> EventCursor
}

/// Why the feed or a history cannot continue from a cursor.
public enum EventRefusal: Error, Hashable, Sendable {
    /// The cursor is from another database, whose events have other numbers; or, in the feed, events after the cursor
    /// have been deleted. Deleted events do not expire the cursor of a history: it goes backwards and simply ends.
    case cursorExpired
}
