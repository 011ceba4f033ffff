import PostgresClient
import PushRegistry

/// Entries of the audit in PostgreSQL.
public struct PostgresAuditStore: AuditStore {
    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func record(_ entry: AuditEntry, of app: AppNumber) async throws {
        try await storing { _ = try await postgres.execute([AuditStatements.add(entry, of: app)], .alone) }
    }

    public func entries(
        of app: AppNumber?, action: AuditEntry.Action?, actor: String?, before: Int64?, limit: Int
    ) async throws -> [RecordedAuditEntry] {
        try await storing {
            let rows = try await postgres.read(
                AuditStatements.page(
                    of: app, action: action?.rawValue, actor: actor, before: before ?? .max, limit: Int64(limit)))
            return try rows.map(RecordedAuditEntry.init)
        }
    }
}

/// The SQL of the audit.
package enum AuditStatements {
    /// Every change that the audit lists: adds its entry, in the same transaction if it has one.
    ///
    /// - Parameter app: nil for a change of no app that exists.
    package static func add(_ entry: AuditEntry, of app: AppNumber?) -> PostgresStatement {
        addSQL(
            app?.rawValue, entry.action, entry.target, entry.members, entry.actor, entry.roles, entry.requestID,
            entry.person)
    }

    private static let addSQL = PreparedSQL(
        """
        INSERT INTO audit_entry (app_id, action, target, members, actor, roles, request_id, person)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """)

    /// GET …/audit: up to `limit` entries before the number `before`.
    static func page(
        of app: AppNumber?, action: String?, actor: String?, before: Int64, limit: Int64
    ) -> PostgresStatement {
        guard let app else { return pageOfServer(action, actor, before, limit) }
        return pageOfApp(action, actor, before, limit, app.rawValue)
    }

    private static let pageOfApp = page("app_id = $5")
    private static let pageOfServer = page("app_id IS NULL")

    private static func page(_ condition: PostgresSQL) -> PreparedSQL {
        PreparedSQL(
            """
            SELECT id, at, action, target, members, actor, person, roles, request_id FROM audit_entry
            WHERE \(sql: condition) AND ($1::text IS NULL OR action = $1) AND ($2::text IS NULL OR actor = $2)
                AND id < $3
            ORDER BY id DESC LIMIT $4
            """)
    }

    /// Clean-up: deletes up to `$2` entries that are older than the time `$1`, the oldest first.
    package static let delete = PreparedSQL(
        """
        DELETE FROM audit_entry WHERE id = ANY (ARRAY(
            SELECT id FROM audit_entry WHERE at < $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}

extension RecordedAuditEntry {
    fileprivate init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row)
        let (number, at): (Int64, Timestamp) = (try reader.next(), try reader.next())
        let (action, target): (String, String) = (try reader.next(), try reader.next())
        self.init(
            number: number, at: at,
            entry: AuditEntry(
                action, target, members: try reader.next(), actor: try reader.next(), person: try reader.next(),
                roles: try reader.next(), requestID: try reader.next()))
    }
}
