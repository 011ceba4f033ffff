import PostgresClient

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
