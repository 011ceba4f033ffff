import PostgresClient
import RegistryTestSupport
import Testing

extension DescribedCalls {
    private static let admin = RegistryApp.Credential.text(RunningService.adminKey)
    private static let plain = [("Content-Type", "application/json")]
    private static let tooLongAName = String(repeating: "x", count: 129)

    private func expect(_ status: Int, _ response: HTTPResponse, _ place: String) {
        #expect(response.status == status, "\(place): \(response.text)")
    }

    /// An example of an operation's body, if it has one.
    func body(of id: String) throws -> JSON? {
        let media = try operation(id).json["requestBody"]["content"]["application/json"]
        return document.examples(of: media).first
    }

    /// Faults that every operation may have: another app, a body that is too large, of the wrong type, or missing.
    func refuseAnywhere(_ operation: OpenAPI.Operation) async throws {
        let id = operation.id
        if operation.path.contains("{app}"), id != "putApp" {
            let response = try await call(id, try body(of: id), path: ["app": "nobody"], by: Self.admin)
            expect(404, response, "\(id) of another app")
        }
        guard operation.json["requestBody"] != .null else { return }
        let limit = try limit(of: operation)
        let tooLarge = String(repeating: " ", count: limit + 1)
        expect(413, try await call(id, text: tooLarge, by: Self.admin, fields: Self.plain), "\(id) too large")
        let largest = String(repeating: " ", count: limit)
        expect(400, try await call(id, text: largest, by: Self.admin, fields: Self.plain), "\(id) as large as may be")
        let text = try await call(id, text: "x", by: Self.admin, fields: [("Content-Type", "text/plain")])
        expect(415, text, "\(id) of text")
        expect(400, try await call(id, text: "{", by: Self.admin, fields: Self.plain), "\(id) of no JSON")
        expect(400, try await call(id, text: "3", by: Self.admin, fields: Self.plain), "\(id) of a number")
    }

    /// The limit in bytes, from the text of the description.
    private func limit(of operation: OpenAPI.Operation) throws -> Int {
        let words = operation.json["requestBody"]["description"].string ?? ""
        let found = try #require(try /(\d+) (K|M)iB/.firstMatch(in: words), "\(operation)")
        return try #require(Int(found.1)) * (found.2 == "K" ? 1024 : 1024 * 1024)
    }

    /// Faults outside of the body.
    func refuseParameters(_ operation: OpenAPI.Operation) async throws {
        let parameters = document.parameters(of: operation)
        for name in ["installId", "userId", "sessionId"] where parameters.contains(where: { $0["name"].string == name })
        {
            let response = try await call(
                operation.id, try body(of: operation.id), path: [name: Self.tooLongAName], by: Self.admin)
            expect(400, response, "\(operation) \(name)")
        }
        if parameters.contains(where: { $0["name"] == "limit" }) {
            let response = try await call(
                operation.id, try body(of: operation.id), query: "limit=0&surplus=1", by: Self.admin)
            expect(400, response, "\(operation) limit")
        }
        if parameters.contains(where: { $0["name"] == "confirm" }) {
            expect(400, try await call(operation.id, by: Self.admin), "\(operation) without a confirmation")
        }
        if parameters.contains(where: { $0["name"] == "If-Match" }) {
            let response = try await call(
                operation.id, try body(of: operation.id), by: Self.admin, fields: [("If-Match", "x")])
            expect(400, response, "\(operation) If-Match")
        }
    }

    /// Faults that depend on the stored data.
    func refuseByState() async throws {
        for id in ["getInstallation", "listSnapshots", "listHistory", "logOutInstallation", "listNotifications"] {
            expect(404, try await call(id, path: ["installId": "nobody"]), id)
        }
        let registration = try #require(try body(of: "registerInstallation"))
        let owned = [("X-User-Id", "bob"), ("X-Session-Id", "s-1")]
        expect(201, try await call("registerInstallation", registration, fields: owned), "registration")
        expect(410, try await call("listNotifications", query: "epoch=another"), "notifications of another epoch")
        try await refuseNotificationOfExpiredMessage()
        expect(404, try await call("deleteInstallation", by: .role(.client)), "another's installation")
        let stale = [("If-Match", "\"1\"")]
        expect(412, try await call("registerInstallation", registration, fields: owned + stale), "stale registration")
        expect(412, try await call("deleteInstallation", fields: stale), "stale removal")
        expect(200, try await call("endSession", path: ["sessionId": "s-1"]), "end of the session")
        expect(
            409, try await call("registerInstallation", registration, fields: owned), "registration of ended session")
        let cursor = try #require(try await app.changes { !$0.isEmpty }.first?["cursor"].string)
        let elsewhere = "0123456789abcdef" + cursor.dropFirst(16)
        for id in ["listChanges", "listHistory", "listTokenHistory"] {
            let response = try await call(id, try body(of: id), query: "after=\(elsewhere)")
            expect(410, response, "\(id) from a cursor of another database")
        }
    }

    private func refuseNotificationOfExpiredMessage() async throws {
        let sender = RegistryApp.Credential.role(.sender)
        let message = try await call("putMessage", [:], path: ["message": "expired"], by: sender)
        expect(201, message, "message")
        _ = try await app.database.rows(
            """
            UPDATE message
            SET created_at = \(sql: .earlier("created_at", by: "8 days")),
                expires_at = \(sql: .earlier("expires_at", by: "8 days"))
            WHERE app_id = \(try await app.number())
            """)
        let post: JSON = ["to": ["userId": "alice"], "payload": 1, "message": "expired"]
        expect(409, try await call("postNotification", post, by: sender), "notification of an expired message")
    }

    func refuseInAdministrationAndAudiences() async throws {
        expect(404, try await call("revokeKey", by: .role(.admin)), "unknown key")
        expect(
            404, try await call("putApp", [:], path: ["app": "nobody"], by: .role(.admin)),
            "creation by another's admin")
        let other = [("If-Match", "\"0123456789abcdef0123456789abcdef\"")]
        for id in ["putApp", "patchApp"] { expect(412, try await call(id, [:], by: Self.admin, fields: other), id) }
        expect(400, try await call("putApp", [:], path: ["app": "a%20b"], by: Self.admin), "name of an app")
        expect(400, try await call("countAudienceByQuery", query: "color=red", by: .role(.sender)), "unknown parameter")
        let noEncoding = [("Accept-Encoding", "identity;q=0, *;q=0")]
        expect(
            406, try await call("exportAudience", ["filter": [:]], by: .role(.sender), fields: noEncoding), "encoding")
        try await putSegment("base", ["filter": [:]], 201)
        try await putSegment("user", ["filter": ["segment": "base"]], 201)
        try await putSegment("base", ["filter": ["segment": "user"]], 400)
        for id in ["putSegment", "deleteSegment"] {
            let response = try await call(
                id, try body(of: id) == nil ? nil : ["filter": [:]], path: ["name": "user"], by: .role(.marketing),
                fields: other)
            expect(412, response, "\(id) that was changed meanwhile")
        }
        try await putSegment(Self.tooLongAName, ["filter": [:]], 400)
        expect(404, try await call("getSegment", path: ["name": "nobody"], by: .role(.marketing)), "unknown segment")
        expect(409, try await call("deleteSegment", path: ["name": "base"], by: .role(.marketing)), "segment in use")
        try await refuseInMessages()
    }

    private func refuseInMessages() async throws {
        expect(201, try await call("putMessage", [:], path: ["message": "plain"]), "message")
        for id in ["getMessage", "breakDownMessage", "getTimeline", "listUndelivered", "sendAccepted"] {
            let response = try await call(id, try body(of: id), path: ["message": "nobody"], by: Self.admin)
            expect(404, response, "\(id) of an unknown message")
        }
        let plain = ["message": "plain"]
        expect(400, try await call("getTimeline", path: plain, query: "interval=PT1S", by: Self.admin), "interval")
        expect(400, try await call("listUndelivered", path: plain, query: "cursor=x", by: Self.admin), "cursor")
        expect(409, try await call("listUndelivered", path: plain), "targets of a message without a record")
        let noEncoding = [("Accept-Encoding", "identity;q=0, *;q=0")]
        expect(201, try await call("putMessage", ["record": true], path: ["message": "recorded"]), "message")
        let recorded = ["message": "recorded"]
        expect(406, try await call("listUndelivered", path: recorded, fields: noEncoding), "encoding")
        expect(400, try await call("sendReceipts", ["receipts": []], by: .none), "no receipts")
        let many = JSON.array([JSON](repeating: [:], count: 101))
        expect(413, try await call("sendReceipts", ["receipts": many], by: .none), "101 receipts")
    }

    func refuseAboutTopics() async throws {
        let locked: JSON = ["name": "Security", "default": "in", "locked": true]
        expect(201, try await call("putTopic", locked, path: ["topic": "security"], by: .role(.admin)), "topic")
        let leaving: JSON = ["topics": ["security": false]]
        expect(
            201, try await app.put("topics", SampleRegistration.make("topics"), as: "carol"), "registration")
        let phone = ["installId": "topics"]
        expect(409, try await call("patchInstallationTopics", leaving, path: phone), "leaving a locked topic")
        expect(409, try await call("patchUserTopics", leaving), "leaving a locked topic")
        for id in ["getInstallationTopics", "patchInstallationTopics"] {
            let body: JSON? = id.hasPrefix("get") ? nil : ["topics": [:]]
            expect(404, try await call(id, body, path: ["installId": "nobody"]), id)
        }
        for id in ["getUserTopics", "patchUserTopics"] {
            let body: JSON? = id.hasPrefix("get") ? nil : ["topics": [:]]
            expect(404, try await call(id, body, path: ["userId": "carol"], by: UserJWT.make("bob")), id)
        }
        expect(404, try await call("getTopic", path: ["topic": "nobody"]), "unknown topic")
        expect(400, try await call("deleteTopic", path: ["topic": "A"], by: .role(.admin)), "name of a topic")
        try await putSegment("secure", ["filter": ["topic": "security"]], 201)
        expect(409, try await call("deleteTopic", path: ["topic": "security"], by: .role(.admin)), "topic in use")
    }

    func refuseAboutTypedTokens() async throws {
        let token: JSON = ["token": "aabbccddeeff0011"]
        let calls: [(String, JSON?)] = [("putTypedToken", token), ("deleteTypedToken", nil)]
        for (id, body) in calls {
            expect(404, try await call(id, body, path: ["installId": "nobody"]), id)
            expect(400, try await call(id, body, path: ["kind": "watch"]), id)
        }
        var registration = SampleRegistration.make("typed")
        registration["tokens"] = .array(
            (0..<16).map { ["kind": "voip", "name": .string("n\($0)"), "token": "aabbccddeeff0011"] })
        expect(201, try await app.put("typed", registration), "registration")
        let phone = ["installId": "typed"]
        expect(409, try await call("putTypedToken", token, path: phone), "17 tokens")
        for (id, body) in calls {
            expect(412, try await call(id, body, path: phone, fields: [("If-Match", "\"1\"")]), id)
        }
        _ = try await app.send("POST", "/installations/typed/logout")
        for (id, body) in calls { expect(409, try await call(id, body, path: phone), "\(id), logged out") }
        expect(200, try await app.put("typed", SampleRegistration.make("typed")), "registration")
    }

    private func putSegment(_ name: String, _ body: JSON, _ status: Int) async throws {
        expect(
            status, try await call("putSegment", body, path: ["name": name], by: .role(.marketing)), "segment \(name)")
    }
}
