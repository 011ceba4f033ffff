import PostgresClient
import PushRegistry
import RegistryStore

/// The partitions of receipts and of messages' sums are dropped when all of their rows are old.
enum MessagePartitions {
    /// How long sums are kept, with their messages.
    static let sumRetention = ISO8601Duration.days(400)

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
                    try session.execute(PartitionStatements.ended([parent], before.postgres))
                        .filter { try !mayBeValid($0) }.map { try $0.decode(0, as: String.self) }
                }
        }

        private func mayBeValid(_ partition: PostgresRow) throws -> Bool {
            let numbers = try [1, 2].map { MessageNumber(createdAt: try partition.decode($0)).rawValue }
            return try session.execute(
                MessagePartitionStatements.isValid(numbers[0], numbers[1], asOf.postgres))[0].decode(0)
        }

        /// - Parameter dropped: called for each dropped partition.
        func run(_ dropped: () throws -> Void) throws {
            let history = HistoryMonths(session: session)
            for partition in try expired() where try history.drop(partition) { try dropped() }
            let sums = MessageNumber(createdAt: asOf.preceding(by: MessagePartitions.sumRetention))
            let receipts = MessageNumber(createdAt: asOf.preceding(by: receiptRetention))
            // Default partitions have rows only of times whose partition was missing.
            _ = try session.execute(MessagePartitionStatements.purgeReceipts(receipts.rawValue, asOf.postgres))
            _ = try session.execute(MessagePartitionStatements.purgeSums(sums.rawValue))
            _ = try session.execute(MessagePartitionStatements.purgeMinutes(sums.rawValue))
            try purgeShorter()
            for row in try session.execute(RollUpStatements.allApps) {
                let app = AppNumber(try row.decode(0))
                _ = try session.execute(MessagePartitionStatements.forget(app.rawValue, sums.rawValue))
            }
        }

        private func purgeShorter() throws {
            let bounds = shorter.map { (app: $0.app, since: asOf.preceding(by: $0.retention)) }
            guard let newest = bounds.map(\.since).max() else { return }
            let number = MessageNumber(createdAt: newest).rawValue
            for partition in try session.execute(MessagePartitionStatements.partitions("receipt", number)) {
                let receipts = OldRows.receipts(in: try partition.decode(0), asOf: asOf)
                try receipts.purge(before: bounds, in: session, nodes)
            }
        }
    }
}

/// The SQL by which clean-up forgets receipts and sums.
enum MessagePartitionStatements {
    /// Clean-up (fine print 58): finds partitions with receipts that some apps keep and others do not: those of the
    /// table `$1` that have or may get rows of messages before `$2`, the default one too.
    static let partitions = PreparedSQL(
        """
        SELECT c.relname::text
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = $1::text::regclass
            AND coalesce(
                (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''?(\\d+)'))[1]::bigint, 0) < $2
        ORDER BY c.relname
        """)

    /// Clean-up (fine print 72): checks whether receipts of messages from `$1` to `$2` may still be valid at the time
    /// `$3`, also if a policy has changed.
    static let isValid = PreparedSQL(
        """
        SELECT count(*) > 0 FROM message WHERE number >= $1 AND number < $2 AND receipts_until > $3
        """)

    /// Clean-up (fine print 58): deletes old receipts of the default partition.
    static let purgeReceipts = PreparedSQL(
        """
        DELETE FROM receipt_default r
        WHERE r.message < $1 AND NOT EXISTS (
            SELECT FROM message m WHERE m.app_id = r.app_id AND m.number = r.message AND m.receipts_until > $2)
        """)

    /// Clean-up (fine print 58): deletes old sums of the default partition.
    static let purgeSums = PreparedSQL(
        "DELETE FROM message_sum_default WHERE message < $1")

    /// Clean-up (fine print 58): deletes old sums by time of the default partition.
    static let purgeMinutes = PreparedSQL(
        "DELETE FROM message_minute_default WHERE message < $1")

    /// Clean-up (fine print 93): deletes messages whose sums are gone.
    static let forget = PreparedSQL(
        "DELETE FROM message WHERE app_id = $1 AND number < $2")
}
