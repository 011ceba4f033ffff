public import PostgresClient
import PushRegistry

/// The partitions of receipts (by week) and of messages' sums (by month). They are created ahead of time, and dropped
/// when all of their rows are old.
///
/// A row without a partition goes to the default partition, and stays there until it is old.
public enum MessagePartitions {
    static let ahead = ISO8601Duration.days(35)
    /// How long sums are kept, with their messages.
    static let sumRetention = ISO8601Duration.days(400)

    /// Creates the missing partitions. It leaves a table that it cannot lock in time to the next call.
    ///
    /// - Parameter configuration: connects as the tables' owner; any role suffices if nothing is missing.
    /// - Throws: `PostgresError`.
    public static func make(on configuration: PostgresConfiguration) async throws {
        try await PostgresSession.withSession(configuration) { _ = try make($0) }
    }

    /// - Returns: how many partitions it created.
    static func make(_ session: PostgresSession) throws -> Int {
        var created = 0
        for row in try session.execute(MessagePartitionStatements.missing(ahead)) {
            let make = MessagePartitionStatements.make(
                try row.decode(0), from: try row.decode(1), to: try row.decode(2))
            do {
                try HistoryPartitions.withTableLocks(session) {
                    if try session.execute(make)[0].decode(0) { created += 1 }
                }
            } catch let error where error.isLockTimeout || (error as? PostgresError)?.sqlState == "42P07" {
                // Another service creates the same partition.
                continue
            }
        }
        return created
    }

    /// The night job's removal of old partitions and rows, and its preview.
    struct Purge {
        let session: PostgresSession
        let nodes: CleanUpNodes
        /// The longest `receiptRetention` of all apps.
        let receiptRetention: ISO8601Duration
        /// The apps that keep receipts for a shorter time.
        let shorter: [(app: AppNumber, retention: ISO8601Duration)]
        let asOf: Timestamp

        init(
            session: PostgresSession, nodes: CleanUpNodes, policies: [(app: AppNumber, policy: AppPolicy)],
            asOf: Timestamp
        ) {
            let longest = policies.map(\.policy.receiptRetention).max() ?? AppPolicy.standard.receiptRetention
            self.session = session
            self.nodes = nodes
            self.asOf = asOf
            receiptRetention = longest
            shorter = policies.filter { $0.policy.receiptRetention < longest }
                .map { ($0.app, $0.policy.receiptRetention) }
        }

        /// The partitions in which all rows are old.
        func expired() throws -> [String] {
            let sums = asOf.preceding(by: MessagePartitions.sumRetention)
            let receipts = max(sums, asOf.preceding(by: receiptRetention))
            return try ["receipt": receipts, "message_sum": sums, "message_minute": sums]
                .sorted { $0.key < $1.key }
                .flatMap { parent, before in
                    try session.execute(
                        MessagePartitionStatements.old(parent, before: MessageNumber(createdAt: before))
                    )
                    .filter { try !mayBeValid($0) }.map { try $0.decode(0, as: String.self) }
                }
        }

        private func mayBeValid(_ partition: PostgresRow) throws -> Bool {
            try session.execute(
                MessagePartitionStatements.isValid(
                    from: try partition.decode(1), to: try partition.decode(2), at: asOf))[0].decode(0)
        }

        /// - Parameter dropped: called for each dropped partition.
        func run(_ dropped: () throws -> Void) throws {
            let history = HistoryMonths(session: session)
            for partition in try expired() where try history.drop(partition) { try dropped() }
            let sums = MessageNumber(createdAt: asOf.preceding(by: MessagePartitions.sumRetention))
            for statement in MessagePartitionStatements.purgeDefaults(
                receiptsBefore: MessageNumber(createdAt: asOf.preceding(by: receiptRetention)), sumsBefore: sums,
                at: asOf)
            {
                _ = try session.execute(statement)
            }
            try purgeShorter()
            for row in try session.execute(RollUpStatements.allApps) {
                let app = AppNumber(try row.decode(0))
                _ = try session.execute(MessagePartitionStatements.forget(app, before: sums))
            }
        }

        private func purgeShorter() throws {
            let bounds = shorter.map { (app: $0.app, since: asOf.preceding(by: $0.retention)) }
            guard let newest = bounds.map(\.since).max() else { return }
            let partitions = MessagePartitionStatements.partitions(
                of: "receipt", before: MessageNumber(createdAt: newest))
            for partition in try session.execute(partitions) {
                let receipts = OldRows.receipts(in: try partition.decode(0), asOf: asOf)
                try receipts.purge(before: bounds, in: session, nodes)
            }
        }
    }
}
