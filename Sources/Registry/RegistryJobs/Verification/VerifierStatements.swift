import PostgresClient

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
