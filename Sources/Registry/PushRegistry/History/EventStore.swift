/// Reads the history of tokens (R12).
///
/// - Throws: every call throws `StoreError`.
public protocol EventStore: Sendable {
    /// The events of an installation, newest first; nil if there is neither the installation nor an event of it.
    ///
    /// - Throws: `EventRefusal`.
    func events(of key: InstallationKey, before: EventCursor?, limit: Int) async throws -> EventPage?

    /// The events of a token, and those by which its holder changed to another token, newest first.
    ///
    /// - Throws: `EventRefusal`.
    func events(of token: TokenAddress, before: EventCursor?, limit: Int) async throws -> EventPage

    /// The app's events in the order of their transactions. A reader that continues at the last cursor gets
    /// every event once, in whatever order transactions commit.
    ///
    /// - Throws: `EventRefusal`.
    func changes(of app: AppNumber, after: EventCursor?, limit: Int) async throws -> [RecordedEvent]

    /// The current end of the feed: `changes` after it begin with the first event that the feed does not show yet.
    func latestChange(of app: AppNumber) async throws -> EventCursor
}

/// Why the feed or a history cannot continue from a cursor.
public enum EventRefusal: Error, Hashable, Sendable {
    /// The cursor is from another database, whose events have other numbers; or, in the feed, events after the cursor
    /// have been deleted. Deleted events do not expire the cursor of a history: it goes backwards and simply ends.
    case cursorExpired
}

/// The position of an event: the feed is ordered by transaction and event number, a history by event number alone.
public struct EventCursor: Hashable, Sendable {
    /// The database that numbered the transaction. A restored dump has another epoch.
    public let epoch: String
    public let app: AppNumber
    /// The number of the transaction.
    public let position: Int64
    /// The number of the event.
    public let id: Int64

    public init(epoch: String, app: AppNumber, position: Int64, id: Int64) {
        (self.epoch, self.app, self.position, self.id) = (epoch, app, position, id)
    }

    private static let epochCharacters = 16
}

/// The text that clients send back: `<epoch>.<app>.<transaction>.<event>`. It is opaque to clients.
extension EventCursor: LosslessStringConvertible {
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].utf8.count == Self.epochCharacters,
            parts[0].utf8.allSatisfy(Self.isHexadecimal),
            let app = Int32(parts[1]), let position = Int64(parts[2]), let id = Int64(parts[3]),
            app > 0, position > 0, id >= 0
        else { return nil }
        self.init(epoch: String(parts[0]), app: AppNumber(app), position: position, id: id)
    }

    public var description: String { "\(epoch).\(app.rawValue).\(position).\(id)" }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}

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
        (self.cursor, self.at, self.kind, self.reason) = (cursor, at, kind, reason)
        (self.actor, self.installID, self.provider) = (actor, installID, provider)
        (self.tokenSHA256, self.userID, self.previousUserID) = (tokenSHA256, userID, previousUserID)
        (self.state, self.generationBefore, self.generationAfter) = (state, generationBefore, generationAfter)
        self.topics = topics
    }
}

/// A page of history, newest first.
public struct EventPage: Sendable {
    public let events: [RecordedEvent]
    /// Where the next page begins; nil at the end.
    public let next: EventCursor?

    public init(events: [RecordedEvent], next: EventCursor?) {
        (self.events, self.next) = (events, next)
    }
}
