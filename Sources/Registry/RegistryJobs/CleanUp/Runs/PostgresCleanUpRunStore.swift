import PostgresClient
import PushRegistry
import RegistryStore

/// The records of the night job in PostgreSQL.
public struct PostgresCleanUpRunStore: CleanUpRunStore {
    /// Apps of one run in a response.
    public static let appsMax: Int64 = 100

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func runs(of app: AppNumber?, before: Int32?, limit: Int) async throws -> [RecordedCleanUp] {
        try await storing {
            let rows = try await postgres.execute(
                CleanUpRunStatements.page(app?.rawValue, before ?? .max, Int64(limit), Self.appsMax))
            var runs: [RecordedCleanUp] = []
            for row in rows {
                let run = try RecordedCleanUp(row)
                if runs.last?.number != run.number { runs.append(run) }
                if let result = try RecordedCleanUp.AppResult(row) { runs[runs.count - 1].apps.append(result) }
            }
            return runs
        }
    }
}

extension RecordedCleanUp {
    /// The run of a row, without its apps.
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            number: try row.decode(0), undoes: try row.decode(1), scope: try row.decode(2),
            startedAt: try row.decode(3), finishedAt: try row.decode(4), outcome: try row.decode(5),
            maxShare: try row.decode(6),
            upkeep: Upkeep(
                tombstones: try row.decode(7), partitionsMade: try row.decode(8), partitionsDropped: try row.decode(9),
                historyRemoved: try row.decode(10)),
            apps: [], appCount: try row.decode(11))
    }
}

extension RecordedCleanUp.AppResult {
    /// Nil if the run has no apps.
    fileprivate init?(_ row: PostgresRow) throws {
        guard let app = try row.decode(12, as: String?.self) else { return nil }
        self.init(
            app: try AppID(app), active: try row.decode(13), leaving: try row.decode(14),
            isRefused: try row.decode(15), counts: try CleanUpCounts(row, from: 18), restored: try row.decode(16),
            restorable: try row.decode(17))
    }
}

/// The SQL of the runs that the console shows.
enum CleanUpRunStatements {
    private static let retired: PostgresSQL = "r.superseded + r.unregistered + r.session_ended + r.stale"

    /// A row for each app of a run, and one for a run without apps. `$1` is the app, or NULL; `$2` the run before which
    /// the page begins, `$3` the number of runs, `$4` the number of apps of each.
    static let page = PreparedSQL(
        """
        WITH page AS (
            SELECT * FROM cleanup_run n
            WHERE n.id < $2 AND ($1::integer IS NULL OR EXISTS (
                SELECT FROM cleanup_result r WHERE r.run_id = n.id AND r.app_id = $1))
            ORDER BY n.id DESC LIMIT $3
        ), undone AS (
            SELECT n.undoes AS run_id, r.app_id, sum(r.restored) AS restored
            FROM cleanup_run n JOIN cleanup_result r ON r.run_id = n.id
            WHERE n.undoes IN (SELECT id FROM page) GROUP BY 1, 2
        )
        SELECT n.id, n.undoes, n.apps, n.started_at, n.finished_at, n.outcome, n.max_share, n.tombstones,
            n.partitions_made, n.partitions_dropped, n.history_removed,
            (SELECT count(*) FROM cleanup_result c WHERE c.run_id = n.id AND ($1 IS NULL OR c.app_id = $1)),
            r.identifier, r.active, r.leaving, r.refused, r.restored, r.restorable,
            r.superseded, r.unregistered, r.session_ended, r.stale, r.purged, r.typed_tokens
        FROM page n LEFT JOIN LATERAL (
            SELECT a.identifier, r.*, \(sql: retired) + r.purged + r.restored AS changed,
                CASE
                    WHEN n.undoes IS NULL THEN greatest(r.unregistered + r.stale - coalesce(u.restored, 0), 0)::bigint
                    ELSE 0
                END AS restorable
            FROM cleanup_result r JOIN app a ON a.id = r.app_id
                LEFT JOIN undone u ON u.run_id = r.run_id AND u.app_id = r.app_id
            WHERE r.run_id = n.id AND ($1 IS NULL OR r.app_id = $1)
            ORDER BY r.refused DESC, changed DESC, a.identifier LIMIT $4
        ) AS r ON true
        ORDER BY n.id DESC, r.refused DESC, r.changed DESC, r.identifier
        """)
}
