import PostgresClient
import PushRegistry

/// The SQL that writes events of choices about topics (R12).
enum TopicsEventStatements {
    /// - Parameter ids: of `EventStatements.drawIDs`, on Citus; nil: PostgreSQL draws them.
    static func append(
        _ events: [TopicsEvent], in app: AppNumber, at position: Int64, ids: [Int64]? = nil
    ) -> PostgresStatement {
        PostgresStatement(ids == nil ? appendSQL : appendOnCitus) { binds in
            binds.bind(app.rawValue)
            binds.bind(position)
            if let ids { binds.bind(ids) }
            TopicsEvent.batch.bind(events, to: &binds)
        }
    }

    /// PATCH …/topics of installations and users, PUT …/installations/{installId} (R12): writes events.
    private static let appendSQL = PreparedSQL(
        """
        INSERT INTO token_event (app_id, position, event, generation_after, \(sql: TopicsEvent.batch.list.names))
        SELECT $1, $2, 'topicsChanged', k.generation_before, \(sql: TopicsEvent.batch.list.values)
        FROM \(sql: TopicsEvent.batch.list.unnest(from: 3))
        """)

    /// PATCH …/topics and PUT …/installations/{installId}, on Citus (R12): writes events.
    static let appendOnCitus = PreparedSQL(
        EventStatements.insertNumbered(
            "event, generation_after, \(sql: TopicsEvent.batch.list.names)",
            "'topicsChanged', k.generation_before, \(sql: TopicsEvent.batch.list.values)", of: TopicsEvent.batch.list))
}

extension TopicsEvent {
    fileprivate static let batch = BatchColumns<TopicsEvent>([
        .init("install_id", "text") { $0.installation?.key.installID.rawValue },
        .init("reason", "text") { $0.reason.rawValue },
        .init("actor", "text") { $0.actor },
        .init("at", "timestamptz") { $0.at.postgres },
        .init("provider", "text", cast: "provider") { $0.installation?.provider.rawValue },
        .init("token_sha256", "bytea") { $0.installation?.tokenSHA256 },
        .init("user_id", "text") { $0.userID?.rawValue },
        .init("previous_user_id", "text") { $0.previousUserID?.rawValue },
        .init("state", "text", cast: "installation_state") { $0.installation?.state.rawValue },
        .init("generation_before", "bigint") { $0.installation?.generation },
        .init("topics", texts: { $0.topics.map(\.rawValue) }),
    ])
}
