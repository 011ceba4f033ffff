import PostgresClient
import PushRegistry

/// An installation as a statement of feedback or of the night job returns it after changing its state.
struct StateChange: Sendable {
    let installID: InstallID
    let provider: Provider
    let userID: UserID?
    let previousUserID: UserID?
    let state: InstallationState
    /// The generation after the change, which incremented it.
    let generation: Int64
    let at: Timestamp
    /// The cell of the roll-up that counted the installation.
    let cell: Int64
    /// The choices about topics before the change.
    let topics: TopicChoices
    /// The expiry of the session before the change.
    let sessionExpiresAt: Timestamp?
    /// Of the token before the change.
    let tokenSHA256: [UInt8]?

    static let columnCount = 11

    /// - Parameter row: begins with the columns of this value, in their order.
    init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row)
        installID = try InstallID(reader.next())
        provider = try reader.nextLabel()
        userID = try reader.next(String?.self).map { try UserID($0) }
        previousUserID = try reader.next(String?.self).map { try UserID($0) }
        state = try reader.nextLabel()
        generation = try reader.next()
        at = try reader.nextTimestamp()
        cell = try reader.next()
        topics = try reader.nextChoices()
        sessionExpiresAt = try reader.next(PostgresTimestamp?.self).map(Timestamp.init)
        tokenSHA256 = try reader.next()
    }
}

/// The rows that a transaction writes in addition to the installations whose states it has changed: events (R12),
/// counts (R13), the holders of tokens and the ends of bindings. Each is a plain statement of one app, so Citus
/// executes it on one node.
struct StateChangeRecords: Sendable {
    let app: AppNumber
    let actor: String
    private(set) var events: [TokenEvent] = []
    private var released: [TokenAddress] = []
    private var owners = OwnerChanges()
    private var delta = RollUpDelta()

    init(in app: AppNumber, by actor: String) {
        (self.app, self.actor) = (app, actor)
    }

    /// - Parameter lost: the counts that the installation leaves.
    mutating func add(_ change: StateChange, _ kind: EventKind, _ reason: TokenEvent.Reason, leaving lost: LostCount) {
        events.append(
            TokenEvent(
                InstallationKey(app: app, installID: change.installID), kind, reason, by: actor, at: change.at,
                provider: change.provider, tokenSHA256: change.tokenSHA256, userID: change.userID,
                previousUserID: change.previousUserID, state: change.state, generationBefore: change.generation - 1,
                generationAfter: change.generation))
        owners.add(
            from: change.previousUserID.map { Owner(userID: $0, session: nil) },
            to: change.userID.map { Owner(userID: $0, session: nil) }, on: change.installID)
        delta.remove(
            lost, from: change.cell, expiringAt: change.sessionExpiresAt, topics: change.topics,
            endsChoices: lost != .installation && change.userID != change.previousUserID)
    }

    /// The installation gave up its token. The transaction has locked it.
    mutating func release(_ change: StateChange) {
        guard let sha256 = change.tokenSHA256 else { return }
        released.append(TokenAddress(app: app, provider: change.provider, sha256: sha256))
    }

    /// - Parameters:
    ///   - position: of the events in the change feed, drawn after the installations were changed.
    ///   - time: when bindings ended.
    func statements(at position: Int64, _ time: Timestamp) -> [PostgresStatement] {
        changes(time) + EventRecords(events, in: app, at: position).statements()
    }

    /// All but the events.
    func changes(_ time: Timestamp) -> [PostgresStatement] {
        [
            released.isEmpty ? nil : HolderStatements.move(released.map { ($0, nil) }, in: app),
            owners.ended(in: app, at: time), delta.statement(in: app),
        ].compactMap(\.self)
    }
}
