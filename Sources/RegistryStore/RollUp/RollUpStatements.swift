import PostgresClient

/// Calls of the functions that keep the roll-up, which are the migration's: whoever changes the database by other ways can
/// call them too.
enum RollUpStatements {
    /// Answers how many deltas were folded; NULL if another process is folding.
    static func fold(_ batch: Int32) -> PostgresStatement {
        PostgresStatement("SELECT fold_rollup(\(batch))").unprepared()
    }

    static let align = PostgresStatement("SELECT align_rollup()").unprepared()
    static let appendCorrections = PostgresStatement("SELECT append_rollup_corrections()").unprepared()
    static let prepare = PostgresStatement("SELECT prepare_rollup()").unprepared()
    static let pending = PostgresStatement("SELECT count(*) FROM rollup_pending").unprepared()

    /// Makes the space of folded deltas usable again: autovacuum would come once a minute.
    static let vacuum = PostgresStatement("VACUUM rollup_delta").unprepared()
}
