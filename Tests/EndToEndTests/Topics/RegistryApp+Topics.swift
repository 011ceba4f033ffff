import PostgresClient
import RegistryTestSupport
import Testing

extension RegistryApp {
    /// Creates or replaces a topic.
    func putTopic(_ slug: String, isIn: Bool, isLocked: Bool = false) async throws {
        let body: JSON = [
            "name": .string("Topic \(slug)"), "default": .string(isIn ? "in" : "out"), "locked": .boolean(isLocked),
        ]
        let response = try await send("PUT", "/topics/\(slug)", body, by: .role(.marketing))
        try #require((200...201).contains(response.status), "\(response.text)")
    }

    /// Patches the choices on an installation.
    func choose(_ topics: JSON, on installID: String) async throws -> HTTPResponse {
        try await send("PATCH", "/installations/\(installID)/topics", ["topics": topics])
    }

    /// Patches the choices of a user.
    func choose(_ topics: JSON, user: String) async throws -> HTTPResponse {
        try await send("PATCH", "/users/\(user)/topics", ["topics": topics])
    }

    /// The resolved choices about an installation: `news-user offers+default`.
    func choices(of installID: String) async throws -> String {
        try await send("GET", "/installations/\(installID)/topics").topicsText
    }

    func userChoices(_ user: String) async throws -> String {
        try await send("GET", "/users/\(user)/topics").topicsText
    }

    /// Checks what is derived from the choices: what installations inherit, and the counts by topic and cell. The
    /// lowest numbers are no topics.
    func expectIntact(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let app = try await number()
        let wrong: [String] = try await database.column(
            """
            SELECT i.install_id
            FROM installation i LEFT JOIN user_guard g ON g.app_id = \(app) AND g.user_sha256 = sha256(i.user_id::bytea)
            WHERE i.app_id = \(app) AND coalesce(i.topics, '{}') <> coalesce((
                SELECT array_agg(c ORDER BY c) FROM (
                    SELECT unnest(i.topic_choices) UNION ALL
                    SELECT u FROM unnest(g.topics) AS u
                    WHERE u <> ALL (coalesce(i.topic_choices, '{}')) AND -u <> ALL (coalesce(i.topic_choices, '{}')))
                    AS m (c)), '{}')
            """)
        #expect(wrong == [], sourceLocation: sourceLocation)
        let miscounted = try await database.count(
            """
            SELECT count(*) FROM (
                SELECT topic, cell FROM (
                    SELECT t AS topic, cell, 1 AS installations, (state = 'active')::integer AS active
                    FROM installation CROSS JOIN LATERAL unnest(topics) AS t WHERE app_id = \(app)
                    UNION ALL
                    SELECT topic, cell, -installations, -active FROM rollup_delta
                    WHERE app_id = \(app) AND topic <> 0 AND topic > -1000000
                        AND transaction_id >= (SELECT horizon FROM rollup_state WHERE app_id = \(app))
                    UNION ALL
                    SELECT topic, cell, -installations, -active FROM rollup_cube
                    WHERE app_id = \(app) AND topic <> 0 AND topic > -1000000) AS c
                GROUP BY topic, cell HAVING sum(installations) <> 0 OR sum(active) <> 0) AS m
            """)
        #expect(miscounted == 0, sourceLocation: sourceLocation)
    }
}

extension HTTPResponse {
    /// Each topic with `+` if it is subscribed, else `-`, and the level that decides.
    var topicsText: String {
        json["topics"].array.map { topic in
            let sign = topic["subscribed"] == true ? "+" : "-"
            return "\(topic["topic"].string ?? "?")\(sign)\(topic["from"].string ?? "?")"
        }.joined(separator: " ")
    }
}
