import PostgresClient
import RegistryTestSupport

extension RegistryApp {
    /// The app's number in the tables.
    func number() async throws -> Int32 {
        try await database.column("SELECT id FROM app WHERE identifier = \(id)")[0]
    }

    /// The version of the row: another one after every write.
    func rowVersion(_ installID: String) async throws -> String? {
        try await database.column(
            """
            SELECT i.ctid::text || ' ' || i.xmin::text FROM installation i JOIN app ON app.id = app_id
            WHERE identifier = \(id) AND install_id = \(installID)
            """, as: String.self
        ).first
    }

    /// Sets columns by SQL.
    func update(_ installID: String, _ assignments: PostgresSQL) async throws {
        _ = try await database.rows(
            """
            UPDATE installation SET \(sql: assignments)
            WHERE install_id = \(installID) AND app_id = (SELECT id FROM app WHERE identifier = \(id))
            """)
    }

    /// Makes an installation, or all of the app, older by an interval of PostgreSQL.
    func age(_ installID: String? = nil, by time: String) async throws {
        let columns = ["created_at", "registered_at", "last_seen_at", "state_changed_at"]
        let assignments = columns.map { "\(identifier: $0) = \(sql: .earlier($0, by: time))" as PostgresSQL }
        _ = try await database.rows(
            """
            UPDATE installation SET \(sql: assignments.joined(separator: ", "))
            WHERE app_id = \(try await number()) AND install_id = coalesce(\(installID)::text, install_id)
            """)
    }

    /// The installations that hold a token, by its text.
    func holders(of token: String) async throws -> [String] {
        try await database.column(
            """
            SELECT install_id FROM installation JOIN app ON app.id = app_id
            WHERE identifier = \(id) AND token = \(token) ORDER BY install_id
            """)
    }
}

extension PostgresSQL {
    /// A time column of the row, less an interval. Citus allows only immutable functions of columns in an UPDATE, and
    /// subtracting from a `timestamptz` depends on the session's time zone.
    static func earlier(_ column: String, by time: String) -> PostgresSQL {
        "(\(identifier: column) AT TIME ZONE 'UTC' - \(literal: time)::interval) AT TIME ZONE 'UTC'"
    }
}
