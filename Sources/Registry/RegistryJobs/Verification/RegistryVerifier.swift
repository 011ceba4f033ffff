import PostgresClient
import PushRegistry
import RegistryStore

/// Checks every invariant of the data in one snapshot of the database.
public struct RegistryVerifier: Sendable {
    /// The findings of one invariant.
    public struct Finding: Sendable {
        public let invariant: Invariant
        /// The number of violations.
        public let broken: Int
        /// The first violations.
        public let examples: [String]
    }

    public struct Report: Sendable {
        /// The time of the snapshot.
        public let asOf: Timestamp
        public let installations: Int
        public let events: Int
        public let findings: [Finding]

        public var isIntact: Bool { findings.allSatisfy { $0.broken == 0 } }
    }

    private let configuration: PostgresConfiguration

    public init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// Reads all tables, several times; the server sorts on its disk if its memory is too small. Changes nothing.
    ///
    /// - Parameter progress: called before each invariant with its index, the number of invariants, and its name.
    /// - Throws: `PostgresError`.
    public func verify(
        progress: @escaping @Sendable (Int, Int, Invariant) -> Void = { _, _, _ in }
    ) async throws -> Report {
        try await PostgresSession.withSession(configuration) { session in
            try session.withTransaction {
                try session.run(script: VerifierStatements.settings)
                return try report(session, progress)
            }
        }
    }

    private func report(
        _ session: PostgresSession, _ progress: (Int, Int, Invariant) -> Void
    ) throws -> Report {
        let totals = try session.execute(VerifierStatements.totals)[0]
        let isDistributed = try Distribution.exists(session)
        let invariants = isDistributed ? [.distribution] + Invariant.all : Invariant.all
        var findings: [Finding] = []
        for (number, invariant) in invariants.enumerated() {
            try session.checkCancellation()
            progress(number, invariants.count, invariant)
            let row = try session.execute(invariant.count)[0]
            findings.append(Finding(invariant: invariant, broken: try row.decode(0), examples: try row.decode(1)))
            // Citus refuses some of the others: they read a table of the coordinator together with distributed ones.
            if invariant.name == Invariant.distribution.name, findings[number].broken > 0 { break }
        }
        return Report(
            asOf: try totals.decode(0), installations: try totals.decode(1), events: try totals.decode(2),
            findings: findings)
    }
}

/// The SQL of `push-registry verify` besides that of the invariants, which stands with them.
enum VerifierStatements {
    /// One snapshot. Recounting the roll-up of five million takes 10 s with the memory, and 40 s without.
    static let settings = """
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL work_mem = '64MB'; SET LOCAL jit = off
        """

    /// verify: counts installations and events.
    static let totals: PostgresStatement =
        "SELECT now(), (SELECT count(*) FROM installation), (SELECT count(*) FROM token_event)"
}
