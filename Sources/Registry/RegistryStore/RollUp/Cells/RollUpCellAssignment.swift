import Basics
import PostgresClient
import PushRegistry

/// Assigns installations the cell of their values, if they have another one: in a rebuild, at night if there is room
/// again for those in overflow cells, and after a change of the time zones that PostgreSQL knows. It goes through an
/// app in the order of its keys; a registration waits for one batch at most.
///
/// Each unit of its steps but the last is a separate transaction.
package struct RollUpCellAssignment {
    /// Installations of a batch.
    private static let batch: Int64 = 5_000

    private struct Wrong {
        let installID: String
        let revision: Int64
        let key: RollUpCells.Key
    }

    private let app: AppNumber
    /// Whether an overflow cell is a wrong one.
    private let leavesOverflow: Bool
    private let limits: RollUpCellLimits

    package init(_ app: AppNumber, leavesOverflow: Bool = false, limits: RollUpCellLimits = RollUpCellLimits()) {
        (self.app, self.leavesOverflow, self.limits) = (app, leavesOverflow, limits)
    }

    /// They end with the number of installations that got another cell.
    package var steps: Steps<Int> { find(after: "", moved: 0) }

    private func find(after last: String, moved: Int) -> Steps<Int> {
        .send([
            RollUpAssignmentStatements.wrongCells(
                of: app, after: last, batch: Self.batch, withOverflow: leavesOverflow
            ).unprepared(),
            RollUpCellStatements.count(of: app),
        ]) { results in
            // The first row has the end of the batch; the others are its installations with a wrong cell.
            guard let end = try results[0].first?.decode(0, as: String?.self) else { return .end(moved) }
            let wrong = try results[0].dropFirst().map { row in
                Wrong(installID: try row.decode(0), revision: try row.decode(1), key: try RollUpCells.Key(row, of: app))
            }
            guard !wrong.isEmpty else { return find(after: end, moved: moved) }
            let mayAdd = limits.admitsAll(try RollUpCellCount(results[1]))
            return try RollUpCellCreation(wrong.map(\.key), mayAdd: mayAdd).steps.then { creation in
                .send([move(wrong, to: creation.numbers)]) { results in
                    find(after: end, moved: moved + (try results[0][0].decode(0, as: Int.self)))
                }
            }
        }
    }

    private func move(_ wrong: [Wrong], to numbers: [Int64]) -> PostgresStatement {
        RollUpAssignmentStatements.move(
            in: app, installIDs: wrong.map(\.installID), revisions: wrong.map(\.revision), to: numbers
        ).unprepared()
    }
}

extension RollUpCells.Key {
    /// - Parameter row: of `RollUpAssignmentStatements.wrongCells`.
    fileprivate init(_ row: PostgresRow, of app: AppNumber) throws {
        guard let provider = Provider(rawValue: try row.decode(2)) else { throw StoreError.failed("unknown provider") }
        self.init(
            app: app, provider: provider, settings: PackedSettings.decode(try row.decode(3)), locale: try row.decode(4),
            zone: try row.decode(5), offset: try row.decode(6), systemName: try row.decode(7),
            systemVersion: try row.decode(8))
    }
}

/// The SQL that finds installations in cells of other values and moves them, and the condition that `verify` shares
/// (R13).
package enum RollUpAssignmentStatements {
    /// A condition: cell `c`, with its texts, has the values of installation `i`. An overflow cell fits every
    /// installation of its provider and authorization.
    package static let cellFits: PostgresSQL = """
        c.provider = i.provider
            AND c.authorization_status = (enum_range(NULL::authorization_status))[(i.settings & 15)::integer + 1]
            AND c.authorization_assumed = ((i.settings >> 48 & 15) = 1)
            AND (l.text = i.locale AND z.text = i.time_zone_id AND s.text = i.system_name AND v.text = i.system_version
                AND c.time_zone_offset = CASE
                    WHEN EXISTS (SELECT FROM known_time_zone k WHERE k.name = i.time_zone_id) THEN 0
                    ELSE i.time_zone_offset END
                OR c.locale_number = 0 AND c.zone_number = 0 AND c.system_number = 0 AND c.spelling_number = 0)
        """

    /// FROM items: the texts of cell `c`.
    package static let cellTexts: PostgresSQL = """
        LEFT JOIN rollup_text l ON l.app_id = c.app_id AND l.number = c.locale_number
        LEFT JOIN rollup_text z ON z.app_id = c.app_id AND z.number = c.zone_number
        LEFT JOIN rollup_text s ON s.app_id = c.app_id AND s.number = c.system_number
        LEFT JOIN rollup_text v ON v.app_id = c.app_id AND v.number = c.spelling_number
        """

    /// The first row has the id of the batch's last installation, or NULL at the end. The other rows are installations
    /// whose cell does not have their values.
    ///
    /// - Parameter withOverflow: whether an overflow cell is a wrong one.
    static func wrongCells(
        of app: AppNumber, after: String, batch: Int64, withOverflow: Bool = false
    ) -> PostgresStatement {
        """
        WITH page AS MATERIALIZED (
            SELECT install_id, revision, provider, settings, locale, time_zone_id, time_zone_offset, system_name,
                system_version, cell
            FROM installation WHERE app_id = \(app.rawValue) AND install_id > \(after)
            ORDER BY install_id LIMIT \(batch)
        )
        SELECT max(install_id), NULL::bigint, NULL::text, NULL::bigint, NULL::text, NULL::text, NULL::integer,
            NULL::text, NULL::text
        FROM page
        UNION ALL
        SELECT i.install_id, i.revision, i.provider::text, i.settings, i.locale, i.time_zone_id, i.time_zone_offset,
            i.system_name, i.system_version
        FROM page i
        LEFT JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = i.cell
        \(sql: cellTexts)
        WHERE (\(sql: cellFits)) IS NOT TRUE OR \(withOverflow) AND c.locale_number = 0
        """
    }

    /// Moves installations that still have these revisions, and their counts. Returns the number of moved
    /// installations.
    static func move(
        in app: AppNumber, installIDs: [String], revisions: [Int64], to cells: [Int64]
    ) -> PostgresStatement {
        """
        WITH moved AS (
            UPDATE installation i SET cell = k.cell, revision = i.revision + 1
            FROM (
                SELECT o.install_id, o.revision, o.cell AS old_cell, n.cell
                FROM unnest(\(installIDs), \(revisions), \(cells)) AS n (install_id, revision, cell)
                JOIN installation o ON o.app_id = \(app.rawValue) AND o.install_id = n.install_id
                    AND o.revision = n.revision AND o.cell <> n.cell
                ORDER BY o.install_id FOR UPDATE OF o) AS k
            WHERE i.app_id = \(app.rawValue) AND i.install_id = k.install_id AND i.revision = k.revision
            RETURNING i.app_id, i.install_id, k.old_cell, i.cell, i.state = 'active' AS is_active,
                CASE WHEN i.state = 'active' THEN i.session_expires_at END AS expires_at, i.topics
        ), counted AS (
            \(sql: RollUpDeltaStatements.insert(into: "\(app.rawValue)", from: """
                SELECT topics, old_cell AS cell, expires_at, CASE WHEN is_active THEN -1 ELSE 0 END AS active,
                    -1 AS installations
                FROM moved WHERE EXISTS (
                    SELECT FROM rollup_cell c WHERE c.app_id = \(app.rawValue) AND c.number = old_cell)
                UNION ALL
                SELECT topics, cell, expires_at, CASE WHEN is_active THEN 1 ELSE 0 END, 1 FROM moved
                """))
        ), counted_tokens AS (
            INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
            SELECT \(app.rawValue), \(sql: RollUpDeltaStatements.transactionID), \(sql: RollUpLayer.ofToken),
                s.cell, \(sql: RollUpLayer.expiresAt("m.expires_at")), sum(s.step), 0
            FROM moved m
            JOIN typed_token t ON t.app_id = \(app.rawValue) AND t.install_id = m.install_id AND NOT t.held
            CROSS JOIN LATERAL (VALUES (m.old_cell, -1), (m.cell, 1)) AS s (cell, step)
            WHERE m.is_active AND EXISTS (
                SELECT FROM rollup_cell c WHERE c.app_id = \(app.rawValue) AND c.number = s.cell)
            GROUP BY 3, 4, 5
        )
        SELECT count(*) FROM moved
        """
    }
}
