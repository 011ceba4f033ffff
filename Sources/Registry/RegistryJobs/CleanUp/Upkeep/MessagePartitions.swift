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
            let start: PostgresTimestamp = try partition.decode(1)
            let end: PostgresTimestamp = try partition.decode(2)
            return try session.execute(
                MessagePartitionStatements.isValid(from: Timestamp(start), to: Timestamp(end), at: asOf))[0].decode(0)
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

/// The SQL by which clean-up forgets receipts and sums.
enum MessagePartitionStatements {
    /// Returns the partitions that have or may get rows of older messages, the default one too.
    static func partitions(of parent: String, before number: MessageNumber) -> PostgresStatement {
        partitionsSQL(parent, number.rawValue)
    }

    /// Clean-up (fine print 58): finds partitions with receipts that some apps keep and others do not.
    private static let partitionsSQL = PreparedSQL(
        """
        SELECT c.relname::text
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = $1::text::regclass
            AND coalesce(
                (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''?(\\d+)'))[1]::bigint, 0) < $2
        ORDER BY c.relname
        """)

    /// Returns whether a receipt of these messages may still be valid, also if a policy has changed (fine print 72).
    static func isValid(from start: Timestamp, to end: Timestamp, at time: Timestamp) -> PostgresStatement {
        isValidSQL(MessageNumber(createdAt: start).rawValue, MessageNumber(createdAt: end).rawValue, time.postgres)
    }

    /// Clean-up (fine print 72): checks whether receipts of a partition may still be valid.
    private static let isValidSQL = PreparedSQL(
        """
        SELECT count(*) > 0 FROM message WHERE number >= $1 AND number < $2 AND receipts_until > $3
        """)

    /// Default partitions have rows only of times whose partition was missing.
    static func purgeDefaults(
        receiptsBefore receipts: MessageNumber, sumsBefore sums: MessageNumber, at time: Timestamp
    ) -> [PostgresStatement] {
        [purgeReceipts(receipts.rawValue, time.postgres), purgeSums(sums.rawValue), purgeMinutes(sums.rawValue)]
    }

    /// Clean-up (fine print 58): deletes old receipts of the default partition.
    private static let purgeReceipts = PreparedSQL(
        """
        DELETE FROM receipt_default r
        WHERE r.message < $1 AND NOT EXISTS (
            SELECT FROM message m WHERE m.app_id = r.app_id AND m.number = r.message AND m.receipts_until > $2)
        """)

    /// Clean-up (fine print 58): deletes old sums of the default partition.
    private static let purgeSums = PreparedSQL(
        "DELETE FROM message_sum_default WHERE message < $1")

    /// Clean-up (fine print 58): deletes old sums by time of the default partition.
    private static let purgeMinutes = PreparedSQL(
        "DELETE FROM message_minute_default WHERE message < $1")

    static func forget(_ app: AppNumber, before number: MessageNumber) -> PostgresStatement {
        forgetSQL(app.rawValue, number.rawValue)
    }

    /// Clean-up (fine print 93): deletes messages whose sums are gone.
    private static let forgetSQL = PreparedSQL(
        "DELETE FROM message WHERE app_id = $1 AND number < $2")
}
