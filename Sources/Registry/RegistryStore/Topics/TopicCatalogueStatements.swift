import PostgresClient
import PushRegistry

/// The SQL of an app's catalogue of topics. `$1` is the app.
package enum TopicCatalogueStatements {
    private static let columns: PostgresSQL = "number, slug, name, description, category, is_in, is_locked"

    /// Every request after a change of apps, keys or topics: reads the topics of these apps.
    static let ofApps = PreparedSQL(
        "SELECT app_id, \(sql: columns) FROM topic WHERE app_id = ANY ($1)")

    /// Clean-up (R12): reads the topics of choices that end.
    package static let ofApp = PreparedSQL(
        "SELECT app_id, \(sql: columns) FROM topic WHERE app_id = $1")

    /// PUT and DELETE …/topics/{topic}: reads the number of a topic.
    static let find = PreparedSQL(
        "SELECT number FROM topic WHERE app_id = $1 AND slug = $2")

    /// PUT …/topics/{topic}: counts the app's topics.
    static let count = PreparedSQL(
        "SELECT count(*) FROM topic WHERE app_id = $1")

    /// Not an INSERT … ON CONFLICT: it would use up a topic's number at each call.
    static let replace = PreparedSQL(
        """
        UPDATE topic SET name = $3, description = $4, category = $5, is_in = $6, is_locked = $7
        WHERE app_id = $1 AND slug = $2 RETURNING number
        """)

    /// PUT …/topics/{topic}: creates a topic.
    static let create = PreparedSQL(
        """
        INSERT INTO topic (app_id, slug, name, description, category, is_in, is_locked)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number
        """)

    /// DELETE …/topics/{topic}: checks whether a segment names it.
    static let isUsed = PreparedSQL(
        """
        SELECT true FROM segment_topic s JOIN topic t ON t.app_id = s.app_id AND t.number = s.topic_number
        WHERE s.app_id = $1 AND t.app_id = $1 AND t.slug = $2 LIMIT 1
        """)

    /// DELETE …/topics/{topic}: deletes a topic.
    static let delete = PreparedSQL(
        "DELETE FROM topic WHERE app_id = $1 AND number = $2")

    /// DELETE …/topics/{topic}: stores the number, so that the night job removes its choices.
    static let noteDeleted = PreparedSQL(
        "INSERT INTO deleted_topic (app_id, number) VALUES ($1, $2)")

    static func values(_ slug: TopicSlug, _ content: Topic.Content, in app: AppNumber, _ sql: PreparedSQL)
        -> PostgresStatement
    {
        sql(
            app.rawValue, slug.rawValue, content.name, content.description, content.category,
            content.isInByDefault, content.isLocked)
    }
}

extension TopicCatalogue {
    /// The catalogues of the apps that have topics.
    ///
    /// - Parameter rows: of `TopicCatalogueStatements.ofApps` or `ofApp`.
    package static func byApp(_ rows: some Sequence<PostgresRow>) throws -> [AppNumber: TopicCatalogue] {
        var topics: [AppNumber: [Topic]] = [:]
        for row in rows {
            var reader = ColumnReader(row)
            let app = AppNumber(try reader.next())
            topics[app, default: []].append(try Topic(&reader))
        }
        return topics.mapValues(TopicCatalogue.init)
    }
}

extension Topic {
    fileprivate init(_ reader: inout ColumnReader) throws {
        self.init(
            number: TopicNumber(try reader.next()), slug: try TopicSlug(reader.next()),
            content: try Content(
                name: reader.next(), description: reader.next(), category: reader.next(), isInByDefault: reader.next(),
                isLocked: reader.next()))
    }
}
