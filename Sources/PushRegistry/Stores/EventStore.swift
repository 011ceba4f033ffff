/// Where the history of tokens is read (R12).
public protocol EventStore: Sendable {
    /// The events of an installation, newest first; nil where there is neither an installation nor an event of one.
    ///
    /// - Throws: `StoreError`.
    func events(of key: InstallationKey, before: EventCursor?, limit: Int) async throws -> EventPage?

    /// The events that name a token, and those by which its holder left it for another, newest first.
    ///
    /// - Throws: `StoreError`.
    func events(of token: TokenAddress, before: EventCursor?, limit: Int) async throws -> EventPage

    /// The app's events in the order of their transactions. Whoever asks again with the last one's cursor misses none and sees none
    /// twice, in whatever order transactions commit.
    ///
    /// - Throws: `ChangesRefusal`, `StoreError`.
    func changes(of app: AppNumber, after: EventCursor?, limit: Int) async throws -> [RecordedEvent]
}

/// Why the feed cannot go on from a cursor.
public enum ChangesRefusal: Error, Hashable, Sendable {
    /// The cursor's event is not kept any more, or the database is not the one that gave it.
    case cursorExpired
}
