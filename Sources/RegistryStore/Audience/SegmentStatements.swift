import PostgresClient

/// The SQL of saved filters. `$1` is the app.
enum SegmentStatements {
    static let named = [
        NamedStatement("read", read), NamedStatement("list", list), NamedStatement("definitions", definitions),
        NamedStatement("lock", lock), NamedStatement("countOfOthers", countOfOthers), NamedStatement("isUsed", isUsed),
        NamedStatement("put", put), NamedStatement("forgetUses", forgetUses), NamedStatement("addUses", addUses),
        NamedStatement("delete", delete), NamedStatement("countTopics", countTopics),
        NamedStatement("forgetTopics", forgetTopics), NamedStatement("addTopics", addTopics),
    ]

    static let read = PreparedSQL(
        serving: "GET …/segments/{name}: reads a segment.",
        "SELECT name, filter, description, updated_at FROM segment WHERE app_id = $1 AND name = $2")

    static let list = PreparedSQL(
        serving: "GET …/segments: lists segments.",
        """
        SELECT name, filter, description, updated_at FROM segment
        WHERE app_id = $1 AND name > $2 ORDER BY name LIMIT $3
        """)

    /// UNION drops repeated names, so a cycle ends.
    static let definitions = PreparedSQL(
        serving: "Audience calls that name segments (R16): reads segments and the segments that they name.",
        """
        WITH RECURSIVE wanted (name) AS (
            SELECT name COLLATE "C" FROM unnest($2::text[]) AS n (name)
            UNION
            SELECT u.used FROM wanted w JOIN segment_use u ON u.app_id = $1 AND u.name = w.name
        )
        SELECT s.name, s.filter FROM wanted w JOIN segment s ON s.app_id = $1 AND s.name = w.name
        """)

    /// Changes of an app's segments run one after another. Otherwise two concurrent ones could make two segments name
    /// each other.
    static let lock = PreparedSQL(
        serving: "PUT and DELETE …/segments/{name}: locks the app.",
        "SELECT FROM app WHERE id = $1 FOR NO KEY UPDATE")

    static let countOfOthers = PreparedSQL(
        serving: "PUT …/segments/{name}: counts the app's other segments.",
        "SELECT count(*) FROM segment WHERE app_id = $1 AND name <> $2")

    static let isUsed = PreparedSQL(
        serving: "DELETE …/segments/{name}: checks whether another segment names it.",
        "SELECT true FROM segment_use WHERE app_id = $1 AND used = $2 AND name <> $2 LIMIT 1")

    static let put = PreparedSQL(
        serving: "PUT …/segments/{name}: creates or replaces a segment.",
        """
        INSERT INTO segment (app_id, name, filter, description) VALUES ($1, $2, $3::json, $4)
        ON CONFLICT (app_id, name) DO UPDATE
            SET filter = excluded.filter, description = excluded.description, updated_at = now()
        RETURNING xmax = 0
        """)

    static let forgetUses = PreparedSQL(
        serving: "PUT …/segments/{name}: deletes the names of segments that it used.",
        "DELETE FROM segment_use WHERE app_id = $1 AND name = $2")

    static let addUses = PreparedSQL(
        serving: "PUT …/segments/{name}: adds the names of segments that it uses.",
        "INSERT INTO segment_use (app_id, name, used) SELECT $1, $2, used FROM unnest($3::text[]) AS u (used)")

    static let countTopics = PreparedSQL(
        serving: "PUT …/segments/{name}: checks that the topics exist that it names.",
        "SELECT count(*) FROM topic WHERE app_id = $1 AND number = ANY ($2)")

    static let forgetTopics = PreparedSQL(
        serving: "PUT …/segments/{name}: deletes the topics that it named.",
        "DELETE FROM segment_topic WHERE app_id = $1 AND name = $2")

    static let addTopics = PreparedSQL(
        serving: "PUT …/segments/{name}: adds the topics that it names.",
        "INSERT INTO segment_topic (app_id, name, topic_number) SELECT $1, $2, n FROM unnest($3::integer[]) AS t (n)")

    static let delete = PreparedSQL(
        serving: "DELETE …/segments/{name}: deletes a segment.",
        "DELETE FROM segment WHERE app_id = $1 AND name = $2")
}
