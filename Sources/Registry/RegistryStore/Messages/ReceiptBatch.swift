import PushRegistry

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
