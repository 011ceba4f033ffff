import PostgresClient
import PushRegistry

/// Saved filters in PostgreSQL. Read where they are written, never on a standby that may lag.
public struct PostgresSegmentStore: SegmentStore {
    /// Of one app: more than people can tell apart.
    public static let segmentsMax = 1_000

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func segment(_ name: SegmentName, of app: AppNumber) async throws -> Segment? {
        try await storing {
            let rows = try await postgres.execute(
                PostgresStatement(SegmentStatements.read, app.rawValue, name.rawValue))
            return try rows.first.map(Segment.init)
        }
    }

    public func segments(of app: AppNumber, after: SegmentName?, limit: Int) async throws -> [Segment] {
        try await storing {
            let rows = try await postgres.execute(
                PostgresStatement(SegmentStatements.list, app.rawValue, after?.rawValue ?? "", Int64(limit) + 1))
            return try rows.map(Segment.init)
        }
    }

    public func definitions(of names: Set<SegmentName>, in app: AppNumber) async throws -> [SegmentName: String] {
        try await storing {
            try Self.definitions(try await postgres.execute(Self.statement(names, app)))
        }
    }

    public func put(
        _ name: SegmentName, filter: String, description: String?, uses: Set<SegmentName>, in app: AppNumber,
        check: ([SegmentName: String], Segment?) throws -> Void
    ) async throws -> Bool {
        let used = uses.map(\.rawValue)
        return try await storing {
            try await postgres.withTransaction { transaction in
                let found = try await transaction.execute([
                    PostgresStatement(SegmentStatements.lock, app.rawValue), Self.statement(uses, app),
                    PostgresStatement(SegmentStatements.countOfOthers, app.rawValue, name.rawValue),
                    PostgresStatement(SegmentStatements.read, app.rawValue, name.rawValue),
                ])
                try check(try Self.definitions(found[1]), try found[3].first.map(Segment.init))
                guard try found[2][0].decode(0, as: Int64.self) < Self.segmentsMax else { throw SegmentRefusal.tooMany }
                let results = try await transaction.commit(after: [
                    PostgresStatement(SegmentStatements.put, app.rawValue, name.rawValue, filter, description),
                    PostgresStatement(SegmentStatements.forgetUses, app.rawValue, name.rawValue),
                    PostgresStatement(SegmentStatements.addUses, app.rawValue, name.rawValue, used),
                ])
                return try results[0][0].decode(0)
            }
        }
    }

    public func delete(
        _ name: SegmentName, of app: AppNumber, check: (Segment?) throws -> Void
    ) async throws {
        try await storing {
            try await postgres.withTransaction { transaction in
                let found = try await transaction.execute([
                    PostgresStatement(SegmentStatements.lock, app.rawValue),
                    PostgresStatement(SegmentStatements.isUsed, app.rawValue, name.rawValue),
                    PostgresStatement(SegmentStatements.read, app.rawValue, name.rawValue),
                ])
                try check(try found[2].first.map(Segment.init))
                guard found[1].isEmpty else { throw SegmentRefusal.inUse }
                try await transaction.commit(after: [
                    PostgresStatement(SegmentStatements.delete, app.rawValue, name.rawValue)
                ])
            }
        }
    }

    private static func statement(_ names: Set<SegmentName>, _ app: AppNumber) -> PostgresStatement {
        PostgresStatement(SegmentStatements.definitions, app.rawValue, names.map(\.rawValue))
    }

    private static func definitions(_ rows: PostgresResult) throws -> [SegmentName: String] {
        var definitions: [SegmentName: String] = [:]
        for row in rows { definitions[try SegmentName(row.decode(0))] = try row.decode(1, as: String.self) }
        return definitions
    }

    /// Runs `body`; what the database throws leaves as a `StoreError`, all else as itself.
    private func storing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PostgresError {
            throw StoreError(error)
        } catch let error as PostgresDecodeError {
            throw StoreError(error)
        }
    }
}

private enum SegmentStatements {
    static let read = PreparedSQL(
        "SELECT name, filter, description, updated_at FROM segment WHERE app_id = $1 AND name = $2")

    static let list = PreparedSQL(
        """
        SELECT name, filter, description, updated_at FROM segment
        WHERE app_id = $1 AND name > $2 ORDER BY name LIMIT $3
        """)

    /// Those that are named, and what they name. UNION goes round no circle twice.
    static let definitions = PreparedSQL(
        """
        WITH RECURSIVE wanted (name) AS (
            SELECT name COLLATE "C" FROM unnest($2::text[]) AS n (name)
            UNION
            SELECT u.used FROM wanted w JOIN segment_use u ON u.app_id = $1 AND u.name = w.name
        )
        SELECT s.name, s.filter FROM wanted w JOIN segment s ON s.app_id = $1 AND s.name = w.name
        """)

    /// Whoever changes segments of an app does so alone: that two of them do not name each other is seen by the second.
    static let lock = PreparedSQL("SELECT FROM app WHERE id = $1 FOR NO KEY UPDATE")

    static let countOfOthers = PreparedSQL("SELECT count(*) FROM segment WHERE app_id = $1 AND name <> $2")

    static let isUsed = PreparedSQL(
        "SELECT true FROM segment_use WHERE app_id = $1 AND used = $2 AND name <> $2 LIMIT 1")

    static let put = PreparedSQL(
        """
        INSERT INTO segment (app_id, name, filter, description) VALUES ($1, $2, $3::json, $4)
        ON CONFLICT (app_id, name) DO UPDATE
            SET filter = excluded.filter, description = excluded.description, updated_at = now()
        RETURNING xmax = 0
        """)

    static let forgetUses = PreparedSQL("DELETE FROM segment_use WHERE app_id = $1 AND name = $2")

    static let addUses = PreparedSQL(
        "INSERT INTO segment_use (app_id, name, used) SELECT $1, $2, used FROM unnest($3::text[]) AS u (used)")

    static let delete = PreparedSQL("DELETE FROM segment WHERE app_id = $1 AND name = $2")
}

extension Segment {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            name: try SegmentName(row.decode(0)), filter: try row.decode(1), description: try row.decode(2),
            updatedAt: Timestamp(try row.decode(3)))
    }
}
