/// Stores messages, and counts their events. A result is durable (R15).
///
/// - Throws: every call throws `StoreError`.
public protocol MessageStore: Sendable {
    /// Creates the message or replaces its content. Its number and the time of its creation stay.
    func put(
        _ name: MessageName, _ content: MessageContent, in app: AppNumber, at now: Timestamp
    ) async throws -> (message: Message, isNew: Bool)

    func message(_ name: MessageName, of app: AppNumber) async throws -> Message?

    /// The messages with these names; unknown ones are missing.
    func messages(named names: [MessageName], of app: AppNumber) async throws -> [MessageName: Message]

    /// The newest first.
    ///
    /// - Parameter before: the last one of the previous page.
    func messages(of app: AppNumber, before: MessageNumber?, limit: Int) async throws -> [Message]

    /// Records that audiences of the message name these segments. Beyond `Message.segmentsMax`, none is added.
    func record(_ segments: [SegmentName], for message: MessageNumber, of app: AppNumber) async throws

    /// Counts events of receipts, each once for an installation.
    ///
    /// - Returns: for each report whether it is the first of its event.
    func count(_ reports: [ReceiptReport], of app: AppNumber) async throws -> [Bool]

    /// Counts rows that were handed out, by cell.
    func count(_ handedOut: [Int64: Int], for message: MessageNumber, of app: AppNumber) async throws

    /// Counts installations as targeted, each once, and stores them if the message is recorded.
    func target(_ targets: [MessageTarget], for message: Message, of app: AppNumber, at now: Timestamp) async throws

    /// Counts an event of installations that are recorded targets.
    func count(
        _ event: MessageEvents, at remembered: [InstallationHash], for message: MessageNumber, of app: AppNumber
    ) async throws -> [RememberedOutcome]

    /// The current cells of the installations that hold these tokens or have these ids.
    func cells(
        ofHolders addresses: [TokenAddress], and ids: [InstallID], in app: AppNumber
    ) async throws -> InstallationCells

    /// As above, of the installations that have these typed tokens. The provider is the token's.
    func cells(
        ofTyped addresses: [TypedTokenAddress], in app: AppNumber
    ) async throws -> [TypedTokenAddress: InstallationCells.Entry]

    func counts(of message: MessageNumber, in app: AppNumber) async throws -> (asOf: Timestamp, counts: MessageCounts)

    /// All groups, the largest first.
    ///
    /// - Parameter fields: of the roll-up; at least one.
    func groups(
        of message: MessageNumber, by fields: [AudienceField], in app: AppNumber
    ) async throws -> (asOf: Timestamp, groups: [MessageBreakdown.Group])

    /// The counts of each bucket.
    func timeline(
        of message: MessageNumber, in buckets: TimelineBuckets, in app: AppNumber
    ) async throws -> (asOf: Timestamp, counts: [MessageCounts])

    /// Recorded targets without a delivery, in the order of their hashes.
    ///
    /// - Parameters:
    ///   - handedOutUntil: targets of later hand-outs are left out.
    ///   - after: the last one of the previous page.
    func undelivered(
        _ message: MessageNumber, of app: AppNumber, handedOutUntil: Timestamp, after: InstallationHash?, limit: Int
    ) async throws -> [UndeliveredTarget]
}

/// An event that a receipt reports.
public struct ReceiptReport: Hashable, Sendable {
    public let message: MessageNumber
    public let installation: InstallationHash
    public let cell: Int64
    /// One event.
    public let event: MessageEvents
    /// The time of the event; nil for an event without one.
    public let at: Timestamp?

    public init(_ receipt: ReceiptContent, _ event: MessageEvents, at time: Timestamp?) {
        self.init(
            message: receipt.message, installation: receipt.installation, cell: receipt.cell, event: event, at: time)
    }

    public init(
        message: MessageNumber, installation: InstallationHash, cell: Int64, event: MessageEvents, at time: Timestamp?
    ) {
        (self.message, self.installation, self.cell, self.event) = (message, installation, cell, event)
        at = time
    }
}

/// An installation for which a message is handed out.
public struct MessageTarget: Hashable, Sendable {
    public let installation: InstallationHash
    public let cell: Int64
    public let installID: String
    public let userID: String?

    public init(installation: InstallationHash, cell: Int64, installID: String, userID: String?) {
        (self.installation, self.cell, self.installID, self.userID) = (installation, cell, installID, userID)
    }
}

/// The result of a report about an installation without a receipt.
public enum RememberedOutcome: Hashable, Sendable {
    case counted
    case duplicate
    /// The installation is not a recorded target of the message.
    case unknown
}

/// The current cells of installations.
public struct InstallationCells: Sendable {
    public struct Entry: Hashable, Sendable {
        public let installID: InstallID
        public let provider: Provider
        public let cell: Int64

        public init(installID: InstallID, provider: Provider, cell: Int64) {
            (self.installID, self.provider, self.cell) = (installID, provider, cell)
        }
    }

    public let holders: [TokenAddress: Entry]
    public let named: [InstallID: Entry]

    public init(holders: [TokenAddress: Entry], named: [InstallID: Entry]) {
        (self.holders, self.named) = (holders, named)
    }
}

/// A recorded target that has not reported a delivery.
public struct UndeliveredTarget: Hashable, Sendable {
    public let installation: InstallationHash
    public let installID: String
    /// The user when the message was handed out.
    public let userID: String?
    /// The installation's present state; nil if it is deleted.
    public let state: String?

    public init(installation: InstallationHash, installID: String, userID: String?, state: String?) {
        (self.installation, self.installID, self.userID, self.state) = (installation, installID, userID, state)
    }
}
