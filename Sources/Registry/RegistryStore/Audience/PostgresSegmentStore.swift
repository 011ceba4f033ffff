import PostgresClient
import PushRegistry

/// Saved filters in PostgreSQL. They are read from the primary, because a standby may lag.
public struct PostgresSegmentStore: SegmentStore {
    /// The most segments of one app.
    public static let segmentsMax = 1_000

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func segment(_ name: SegmentName, of app: AppNumber) async throws -> Segment? {
        try await storing {
            let rows = try await postgres.read(SegmentStatements.read(app.rawValue, name.rawValue))
            return try rows.first.map(Segment.init)
        }
    }

    public func segments(of app: AppNumber, after: SegmentName?, limit: Int) async throws -> [Segment] {
        try await storing {
            let rows = try await postgres.read(
                SegmentStatements.list(app.rawValue, after?.rawValue ?? "", Int64(limit) + 1))
            return try rows.map(Segment.init)
        }
    }

    public func definitions(of names: Set<SegmentName>, in app: AppNumber) async throws -> [SegmentName: String] {
        try await storing {
            try Self.definitions(
                await postgres.read(SegmentStatements.definitions(app.rawValue, names.map(\.rawValue))))
        }
    }

    public func put(
        _ name: SegmentName, filter: String, description: String?, uses: Set<SegmentName>,
        topics: Set<TopicNumber>, in app: AppNumber, recording entry: AuditEntry,
        check: ([SegmentName: String], Segment?) throws -> Void
    ) async throws -> (segment: Segment, isNew: Bool) {
        let (used, topics) = (uses.map(\.rawValue), topics.map(\.rawValue))
        return try await storingDecision {
            try await postgres.withTransaction { transaction in
                _ = try await transaction.execute([DirectoryStatements.lockApp(app.rawValue)], .alone)
                let found = try await transaction.execute([
                    SegmentStatements.definitions(app.rawValue, used),
                    SegmentStatements.countOfOthers(app.rawValue, name.rawValue),
                    SegmentStatements.read(app.rawValue, name.rawValue),
                    SegmentStatements.countTopics(app.rawValue, topics),
                ])
                guard try found[3][0].decode(0, as: Int64.self) == topics.count else {
                    throw SegmentRefusal.unknownTopic
                }
                try check(try Self.definitions(found[0]), try found[2].first.map(Segment.init))
                guard try found[1][0].decode(0, as: Int64.self) < Self.segmentsMax else { throw SegmentRefusal.tooMany }
                let results = try await transaction.commit(after: [
                    SegmentStatements.put(app.rawValue, name.rawValue, filter, description),
                    SegmentStatements.forgetUses(app.rawValue, name.rawValue),
                    SegmentStatements.addUses(app.rawValue, name.rawValue, used),
                    SegmentStatements.forgetTopics(app.rawValue, name.rawValue),
                    SegmentStatements.addTopics(app.rawValue, name.rawValue, topics),
                    AuditStatements.add(entry, of: app),
                ])
                return (try Segment(results[0][0]), try results[0][0].decode(4))
            }
        }
    }

    public func delete(
        _ name: SegmentName, of app: AppNumber, recording entry: AuditEntry, check: (Segment?) throws -> Void
    ) async throws -> Bool {
        try await storingDecision {
            try await postgres.withTransaction { transaction in
                _ = try await transaction.execute([DirectoryStatements.lockApp(app.rawValue)], .alone)
                let found = try await transaction.execute([
                    SegmentStatements.isUsed(app.rawValue, name.rawValue),
                    SegmentStatements.read(app.rawValue, name.rawValue),
                ])
                try check(try found[1].first.map(Segment.init))
                guard found[0].isEmpty else { throw SegmentRefusal.inUse }
                guard !found[1].isEmpty else { return false }
                try await transaction.commit(after: [
                    SegmentStatements.delete(app.rawValue, name.rawValue), AuditStatements.add(entry, of: app),
                ])
                return true
            }
        }
    }

    private static func definitions(_ rows: PostgresResult) throws -> [SegmentName: String] {
        var definitions: [SegmentName: String] = [:]
        for row in rows { definitions[try SegmentName(row.decode(0))] = try row.decode(1, as: String.self) }
        return definitions
    }
}

extension Segment {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            name: try SegmentName(row.decode(0)), filter: try row.decode(1), description: try row.decode(2),
            updatedAt: try row.decode(3))
    }
}

/// The SQL of saved filters. `$1` is the app.
enum SegmentStatements {
    /// GET …/segments/{name}: reads a segment.
    static let read = PreparedSQL(
        "SELECT name, filter, description, updated_at FROM segment WHERE app_id = $1 AND name = $2")

    /// GET …/segments: lists segments.
    static let list = PreparedSQL(
        """
        SELECT name, filter, description, updated_at FROM segment
        WHERE app_id = $1 AND name > $2 ORDER BY name LIMIT $3
        """)

    /// UNION drops repeated names, so a cycle ends.
    static let definitions = PreparedSQL(
        """
        WITH RECURSIVE wanted (name) AS (
            SELECT name COLLATE "C" FROM unnest($2::text[]) AS n (name)
            UNION
            SELECT u.used FROM wanted w JOIN segment_use u ON u.app_id = $1 AND u.name = w.name
        )
        SELECT s.name, s.filter FROM wanted w JOIN segment s ON s.app_id = $1 AND s.name = w.name
        """)

    /// PUT …/segments/{name}: counts the app's other segments.
    static let countOfOthers = PreparedSQL(
        "SELECT count(*) FROM segment WHERE app_id = $1 AND name <> $2")

    /// DELETE …/segments/{name}: checks whether another segment names it.
    static let isUsed = PreparedSQL(
        "SELECT true FROM segment_use WHERE app_id = $1 AND used = $2 AND name <> $2 LIMIT 1")

    /// PUT …/segments/{name}: creates or replaces a segment.
    static let put = PreparedSQL(
        """
        INSERT INTO segment (app_id, name, filter, description) VALUES ($1, $2, $3::json, $4)
        ON CONFLICT (app_id, name) DO UPDATE
            SET filter = excluded.filter, description = excluded.description, updated_at = now()
        RETURNING name, filter, description, updated_at, xmax = 0
        """)

    /// PUT …/segments/{name}: deletes the names of segments that it used.
    static let forgetUses = PreparedSQL(
        "DELETE FROM segment_use WHERE app_id = $1 AND name = $2")

    /// PUT …/segments/{name}: adds the names of segments that it uses.
    static let addUses = PreparedSQL(
        "INSERT INTO segment_use (app_id, name, used) SELECT $1, $2, used FROM unnest($3::text[]) AS u (used)")

    /// PUT …/segments/{name}: checks that the topics exist that it names.
    static let countTopics = PreparedSQL(
        "SELECT count(*) FROM topic WHERE app_id = $1 AND number = ANY ($2)")

    /// PUT …/segments/{name}: deletes the topics that it named.
    static let forgetTopics = PreparedSQL(
        "DELETE FROM segment_topic WHERE app_id = $1 AND name = $2")

    /// PUT …/segments/{name}: adds the topics that it names.
    static let addTopics = PreparedSQL(
        "INSERT INTO segment_topic (app_id, name, topic_number) SELECT $1, $2, n FROM unnest($3::integer[]) AS t (n)")

    /// DELETE …/segments/{name}: deletes a segment.
    static let delete = PreparedSQL(
        "DELETE FROM segment WHERE app_id = $1 AND name = $2")
}
