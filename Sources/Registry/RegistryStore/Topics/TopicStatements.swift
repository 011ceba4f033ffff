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

/// The SQL of choices about topics. `$1` is the app.
enum TopicChoiceStatements {
    // MARK: Reading

    /// GET …/installations/{installId}/topics: reads the choices about an installation, and its owner.
    static let ofInstallation = PreparedSQL(
        "SELECT user_id, topic_choices, topics FROM installation WHERE app_id = $1 AND install_id = $2")

    /// GET …/users/{userId}/topics: reads the choices of a user.
    /// `$2` is the user's digest.
    static let ofUser = PreparedSQL(
        "SELECT topics FROM user_guard WHERE app_id = $1 AND user_sha256 = $2")

    /// Runs after the installations `$2` are locked. A concurrent change of a user's choices waits for these locks and
    /// then writes the installations, so this statement takes no lock.
    static let ofOwners = PreparedSQL(
        """
        SELECT i.install_id, g.topics
        FROM unnest($2::text[]) AS k (install_id)
        JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        JOIN user_guard g ON g.app_id = $1 AND g.user_sha256 = \(sql: UserDigest.sha256(of: "i.user_id"))
        WHERE g.topics IS NOT NULL
        """)

    // MARK: A user's choices, under the lock of the user's bucket

    /// Locks up to `$4` installations with ids after `$3` that are bound to the users `$2`, in the order of ids.
    static let lockInstallations = InstallationStatements.page(
        of: "unnest($2::text[]) AS u (user_id) JOIN installation_owner o ON o.user_id = u.user_id")

    // MARK: Writing

    /// PATCH …/users/{userId}/topics: writes the choices of users.
    /// `$2` are the users' digests.
    static let write = PreparedSQL(
        """
        INSERT INTO user_guard (app_id, user_sha256, topics)
        SELECT \(sql: AppRow.app), k.user_sha256, k.topics::integer[]
        FROM \(sql: AppRow.beside("unnest($2::bytea[], $3::text[]) AS k (user_sha256, topics)"))
        ORDER BY k.user_sha256
        ON CONFLICT (app_id, user_sha256) DO UPDATE SET topics = excluded.topics
        """)

    // MARK: Erasure

    /// Runs under the lock of the user's bucket. Returns the number of deleted choices.
    static let eraseOfUser = PreparedSQL(
        """
        WITH old AS MATERIALIZED (SELECT topics FROM user_guard WHERE app_id = $1 AND user_sha256 = $2), erased AS (
            UPDATE user_guard SET topics = NULL WHERE app_id = $1 AND user_sha256 = $2 AND topics IS NOT NULL)
        SELECT coalesce(sum(cardinality(topics)), 0) FROM old
        """)

    /// DELETE …/users/{userId} (R12): removes the user and the topics from events of the user's choices.
    /// `$2` is the user.
    static let eraseEvents = PreparedSQL(
        """
        UPDATE token_event SET user_id = NULL, topics = '{}'
        WHERE app_id = $1 AND install_id IS NULL AND user_id = $2
        """)

    // MARK: Subscribers

    /// The condition on `topics` that an installation with these merged choices is subscribed. It is never NULL.
    static func isSubscribed(to topic: Topic) -> PostgresSQL {
        if topic.content.isLocked { return "true" }
        return topic.content.isInByDefault
            ? "(\(-topic.number.rawValue) = ANY (topics)) IS NOT TRUE"
            : "(\(topic.number.rawValue) = ANY (topics)) IS TRUE"
    }
}
