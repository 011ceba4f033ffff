import PostgresClient
import PushRegistry

/// The changes that one transaction makes to the sums of messages, by cell and minute.
struct MessageDelta: Sendable {
    private struct Key: Hashable {
        let message: MessageNumber
        let cell: Int64
        /// Nil for events without a time.
        let minute: Timestamp?
    }

    private static let minute: Int64 = 60_000_000

    private var changes: [Key: MessageCounts] = [:]

    /// The counts of each cell and minute.
    var all: [MessageCounts] { Array(changes.values) }

    mutating func count(_ event: MessageEvents, of message: MessageNumber, in cell: Int64, at time: Timestamp?) {
        let minute = time.map { Timestamp(microseconds: $0.microseconds / Self.minute * Self.minute) }
        changes[Key(message: message, cell: cell, minute: minute), default: MessageCounts()].count(event)
    }

    /// Counts rows that an export or a list handed out.
    mutating func count(targeted: Int, of message: MessageNumber, in cell: Int64) {
        changes[Key(message: message, cell: cell, minute: nil), default: MessageCounts()].targeted += Int64(targeted)
    }

    /// Nil without a change.
    func statement(in app: AppNumber) -> PostgresStatement? {
        guard !changes.isEmpty else { return nil }
        let (keys, counts) = (Array(changes.keys), Array(changes.values))
        return MessageSumStatements.append(
            app.rawValue, keys.map(\.message.rawValue), keys.map(\.cell), keys.map { $0.minute?.postgres },
            counts.map { Int32(clamping: $0.targeted) }, counts.map { Int32(clamping: $0.accepted) },
            counts.map { Int32(clamping: $0.failed) }, counts.map { Int32(clamping: $0.delivered) },
            counts.map { Int32(clamping: $0.opened) }, counts.map { Int32(clamping: $0.dismissed) })
    }
}
