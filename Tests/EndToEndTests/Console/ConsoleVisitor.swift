import PostgresClient
import RegistryTestSupport
import Testing

/// A browser on the console's page: it has a cookie, and names its page in unsafe requests.
struct ConsoleVisitor {
    /// What a browser sends with a request of the console's own page.
    static let ownPage = [("Sec-Fetch-Site", "same-origin")]

    let registry: Registry
    /// `name=value`; empty before the sign-in.
    var cookie = ""

    /// Signs in with a key of an app.
    static func make(_ role: RegistryApp.Role, of app: RegistryApp) async throws -> ConsoleVisitor {
        var visitor = ConsoleVisitor(registry: app.registry)
        let response = try await visitor.signIn(["app": .string(app.id), "key": .string(app.key(role))])
        #expect(response.status == 200, "\(response.text)")
        return visitor
    }

    /// Signs in with the admin key.
    static func makeAdmin(in registry: Registry) async throws -> ConsoleVisitor {
        var visitor = ConsoleVisitor(registry: registry)
        let response = try await visitor.signIn(["key": .string(RunningService.adminKey)])
        #expect(response.status == 200, "\(response.text)")
        return visitor
    }

    mutating func signIn(_ body: JSON) async throws -> HTTPResponse {
        let response = try await send("POST", "/console/v1/session", body)
        if let field = response["Set-Cookie"] { cookie = String(field.prefix { $0 != ";" }) }
        return response
    }

    func session() async throws -> JSON { try await send("GET", "/console/v1/session").json }

    /// - Parameter fields: replace those of the console's own page.
    func send(
        _ method: String, _ path: String, _ body: JSON? = nil, fields: [(String, String)] = Self.ownPage,
        host: String = "localhost"
    ) async throws -> HTTPResponse {
        try await send(.make(method, path, body, key: nil, fields: fields), host: host)
    }

    func send(_ request: HTTPRequest, host: String = "localhost") async throws -> HTTPResponse {
        var request = request
        request.host = host
        if !cookie.isEmpty { request.fields.append(("Cookie", cookie)) }
        return try await registry.client.response(to: request)
    }

    /// Moves the session's times into the past.
    func age(createdBy created: Int, usedBy used: Int, in database: TestDatabase) async throws {
        _ = try await database.rows(
            """
            UPDATE console_session SET created_at = created_at - make_interval(mins => \(Int32(created))),
                last_used_at = last_used_at - make_interval(mins => \(Int32(used)))
            WHERE sha256 = sha256(convert_to(\(value), 'UTF8'))
            """)
    }

    /// The cookie's value.
    var value: String { String(cookie.drop { $0 != "=" }.dropFirst()) }
}
