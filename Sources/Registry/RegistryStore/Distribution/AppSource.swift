import PostgresClient

/// The source of the rows of an INSERT … SELECT for one kind of database: arrays, and on Citus also a row of the app.
///
/// Citus executes such a statement on the app's node, as one task, if the SELECT reads a table that lies beside the
/// target. If the SELECT reads arrays alone, Citus executes it on the coordinator and copies its rows to the node, by
/// several statements. Therefore the app's row of `rollup_state` is joined on Citus. An app has this row from its
/// creation on.
///
/// Citus executes a STABLE function (`statement_timestamp`, `pg_current_xact_id`) of the SELECT list on the
/// coordinator. With a VOLATILE function (`clock_timestamp`, `nextval` of an identity column) it would copy rows, too.
struct AppSource {
    let isDistributed: Bool

    /// An expression: the app's number. It is `$1`.
    var app: PostgresSQL { isDistributed ? "state.app_id" : "$1" }

    /// An expression: the time at which the statement begins, or later.
    var time: PostgresSQL { isDistributed ? "statement_timestamp()" : "clock_timestamp()" }

    /// An expression: the writing transaction, as deltas name it.
    var transactionID: PostgresSQL {
        isDistributed ? "pg_current_xact_id()::text::bigint" : RollUpDeltaStatements.transactionID
    }

    /// A FROM item: `rows`, which is another one.
    func beside(_ rows: PostgresSQL) -> PostgresSQL {
        isDistributed ? "(SELECT app_id FROM rollup_state WHERE app_id = $1) AS state CROSS JOIN \(sql: rows)" : rows
    }
}

extension PreparedSQL {
    /// An INSERT of rows of the app `$1`, with a text for each kind of database.
    ///
    /// - Parameter values: the same for Citus and few rows.
    init(values: InsertedValues? = nil, from sql: (AppSource) -> PostgresSQL) {
        self.init(
            sql(AppSource(isDistributed: false)), distributed: sql(AppSource(isDistributed: true)),
            values: values)
    }
}
