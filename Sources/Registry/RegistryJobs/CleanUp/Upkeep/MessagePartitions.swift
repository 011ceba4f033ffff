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
