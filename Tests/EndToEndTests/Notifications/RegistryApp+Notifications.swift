import PostgresClient
import RegistryTestSupport
import Testing

extension RegistryApp {
    /// Posts a notification.
    ///
    /// - Parameters:
    ///   - addressee: the member `to`.
    ///   - more: other members of the body.
    func post(
        to addressee: JSON, _ payload: JSON = ["text": "hello"], _ more: [String: JSON] = [:],
        by credential: Credential = .role(.sender)
    ) async throws -> HTTPResponse {
        let body: [String: JSON] = ["to": addressee, "payload": payload]
        return try await send("POST", "/notifications", .object(body.merging(more) { $1 }), by: credential)
    }

    /// Posts to one installation, and returns the entry of the response.
    @discardableResult
    func post(
        toPhone installID: String, _ payload: JSON = ["text": "hello"], _ more: [String: JSON] = [:]
    ) async throws -> JSON {
        let response = try await post(to: ["installId": .string(installID)], payload, more)
        try #require(response.status == 200, "\(response.text)")
        return response.json["notifications"][0]
    }

    /// Fetches what waits for an installation.
    ///
    /// - Parameter credential: usually a delivery key.
    func fetch(
        _ installID: String, after: Int64? = nil, epoch: String? = nil, limit: Int? = nil, method: String = "GET",
        by credential: Credential
    ) async throws -> HTTPResponse {
        let query = [
            after.map { "after=\($0)" }, epoch.map { "epoch=\($0)" }, limit.map { "limit=\($0)" },
        ].compactMap(\.self).joined(separator: "&")
        let path = "/installations/\(installID)/notifications"
        return try await send(method, query.isEmpty ? path : path + "?" + query, by: credential)
    }

    /// Registers an installation, and returns its delivery key.
    @discardableResult
    func phone(
        _ installID: String = "phone", _ body: JSON? = nil, as user: String? = nil, session: String? = nil
    ) async throws -> Credential {
        let response = try await put(installID, body, as: user, session: session)
        return .text(try #require(response.json["deliveryKey"].string, "\(response.text)"))
    }

    /// Rows that wait for the installations of the app, or are remembered.
    func notificationRows() async throws -> Int {
        try await database.count(
            """
            SELECT count(*)
            FROM (
                SELECT app_id FROM notification
                UNION ALL
                SELECT app_id FROM notification_counter
                UNION ALL
                SELECT app_id FROM notification_dedup) AS row
            WHERE app_id = \(try await number())
            """)
    }

    /// Makes everything that waits expire.
    func expireNotifications() async throws {
        for table in ["notification", "notification_dedup"] {
            _ = try await database.rows(
                """
                UPDATE \(identifier: table) SET expires_at = \(sql: .earlier("expires_at", by: "29 days"))
                WHERE app_id = \(try await number())
                """)
        }
    }
}

extension HTTPResponse {
    var numbers: [Int64] { json["notifications"].array.compactMap { $0["number"].integer } }
}
