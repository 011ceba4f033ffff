import PostgresClient
import PushRegistry

/// The counts of one call, which may share a transaction with the counts of other calls.
struct ReceiptWrite: BatchedWrite {
    enum Content: Sendable {
        case reports([ReceiptReport])
        /// The number of rows that were handed out, by cell.
        case handedOut([Int64: Int], MessageNumber)
    }

    let app: AppNumber
    /// Any writes may share a transaction: it merges the rows of one installation.
    let key = UniqueKey()
    let content: Content

    typealias Outcome = [Bool]

    fileprivate var reports: [ReceiptReport] {
        if case .reports(let reports) = content { reports } else { [] }
    }
}

extension ReceiptWrite {
    /// Writes a batch of counts of one app: the receipts, then the changes of the sums.
    static func write(
        _ batch: [ReceiptWrite], _ patience: LockPatience, _ transaction: PostgresTransaction
    ) async throws -> [Result<[Bool], any Error>] {
        let app = batch[0].app
        let receipts = ReceiptBatch(batch.map(\.reports))
        let rows = receipts.rows
        var additions: [ReceiptBatch.Key: ReceiptBatch.Addition] = [:]
        if !rows.isEmpty {
            let count = ReceiptStatements.count(
                app.rawValue, rows.map(\.message.rawValue), rows.map(\.installation.rawValue),
                rows.map(\.events.rawValue), rows.map(\.cell))
            additions = try Self.additions(try await transaction.execute([count], patience)[0])
        }
        var delta = receipts.delta(additions)
        for case .handedOut(let counts, let message) in batch.lazy.map(\.content) {
            for (cell, count) in counts { delta.count(targeted: count, of: message, in: cell) }
        }
        try await transaction.commit(after: delta.statement(in: app).map { [$0] } ?? [])
        return receipts.outcomes(additions).map { .success($0) }
    }

    private static func additions(_ rows: PostgresResult) throws -> [ReceiptBatch.Key: ReceiptBatch.Addition] {
        try rows.reduce(into: [:]) { additions, row in
            let key = ReceiptBatch.Key(
                installation: InstallationHash(try row.decode(1)), message: MessageNumber(try row.decode(0)))
            additions[key] = ReceiptBatch.Addition(
                events: MessageEvents(rawValue: try row.decode(2)), cell: try row.decode(3))
        }
    }
}

/// Counts targets in the caller's transaction, such as the one that stores the notifications.
public struct TargetWrite: Sendable {
    private let app: AppNumber
    private let message: Message
    private let targets: [MessageTarget]
    private let now: Timestamp

    /// - Parameter targets: an installation may occur several times.
    public init(_ targets: [MessageTarget], for message: Message, of app: AppNumber, at now: Timestamp) {
        let distinct = Dictionary(targets.map { ($0.installation, $0) }) { $1 }
        self.targets = distinct.values.sorted { $0.installation.rawValue < $1.installation.rawValue }
        (self.app, self.message, self.now) = (app, message, now)
    }

    /// Counts each installation that is not a target of the message yet, and stores all of them if the message is
    /// recorded.
    ///
    /// - Returns: the last statement, for the same transaction; nil if nothing is left to do.
    /// - Throws: `PostgresError`.
    public func run(_ transaction: PostgresTransaction) async throws -> PostgresStatement? {
        guard !targets.isEmpty else { return nil }
        let rows = try await transaction.execute([
            ReceiptStatements.target(
                targets, for: message.number, of: app, rememberedAt: message.content.isRecorded ? now : nil)
        ])[0]
        let cells = Dictionary(uniqueKeysWithValues: targets.map { ($0.installation, $0.cell) })
        var delta = MessageDelta()
        for row in rows where try MessageEvents(rawValue: row.decode(1)).contains(.targeted) {
            guard let cell = cells[InstallationHash(try row.decode(0))] else { continue }
            delta.count(.targeted, of: message.number, in: cell, at: nil)
        }
        return delta.statement(in: app)
    }
}

/// The reports of several calls about one app, merged into one row for each installation and message: a value.
///
/// The database returns the events that a row did not have before. Of several reports of one event, the first one
/// counts.
struct ReceiptBatch: Sendable {
    struct Key: Hashable, Comparable, Sendable {
        let installation: InstallationHash
        let message: MessageNumber

        static func < (left: Key, right: Key) -> Bool {
            (left.installation.rawValue, left.message) < (right.installation.rawValue, right.message)
        }
    }

    struct Row: Sendable {
        let key: Key
        /// The cell of the first receipt.
        let cell: Int64
        fileprivate(set) var events: MessageEvents = []
        /// The times of the events that have one.
        private var deliveredAt, openedAt, dismissedAt: Timestamp?

        fileprivate init(key: Key, cell: Int64) {
            (self.key, self.cell) = (key, cell)
        }

        fileprivate mutating func add(_ added: MessageEvents, at time: Timestamp?) {
            events.formUnion(added)
            if added.contains(.delivered) { deliveredAt = time }
            if added.contains(.opened) { openedAt = time }
            if added.contains(.dismissed) { dismissedAt = time }
        }

        func time(of event: MessageEvents) -> Timestamp? {
            switch event {
            case .delivered: deliveredAt
            case .opened: openedAt
            case .dismissed: dismissedAt
            default: nil
            }
        }

        var message: MessageNumber { key.message }
        var installation: InstallationHash { key.installation }
    }

    /// The events that the database added to a row.
    struct Addition: Sendable {
        let events: MessageEvents
        /// Nil after an erasure: then the cell in the receipt counts.
        let cell: Int64?
    }

    private struct Report {
        let key: Key
        let event: MessageEvents
        /// No earlier report of the batch has or implies the event.
        let isFirst: Bool
    }

    private var rowsByKey: [Key: Row] = [:]
    private var calls: [[Report]] = []

    init(_ calls: [[ReceiptReport]]) {
        self.calls = calls.map { reports in reports.map { add($0) } }
    }

    private mutating func add(_ report: ReceiptReport) -> Report {
        let key = Key(installation: report.installation, message: report.message)
        var row = rowsByKey[key] ?? Row(key: key, cell: report.cell)
        let isFirst = !row.events.contains(report.event)
        row.add(report.event.complete.subtracting(row.events), at: report.at)
        rowsByKey[key] = row
        return Report(key: key, event: report.event, isFirst: isFirst)
    }

    /// The rows, in the order of their locks.
    var rows: [Row] { rowsByKey.values.sorted { $0.key < $1.key } }

    /// Whether each report of each call counts.
    func outcomes(_ additions: [Key: Addition]) -> [[Bool]] {
        calls.map { reports in
            reports.map { $0.isFirst && additions[$0.key]?.events.contains($0.event) == true }
        }
    }

    func delta(_ additions: [Key: Addition]) -> MessageDelta {
        var delta = MessageDelta()
        for (key, addition) in additions {
            guard let row = rowsByKey[key] else { continue }
            for event in MessageEvents.each where addition.events.contains(event) {
                delta.count(event, of: key.message, in: addition.cell ?? row.cell, at: row.time(of: event))
            }
        }
        return delta
    }
}

extension MessageEvents {
    /// Single events.
    fileprivate static let each: [MessageEvents] = [
        .targeted, .accepted, .failed, .delivered, .opened, .dismissed,
    ]
}
