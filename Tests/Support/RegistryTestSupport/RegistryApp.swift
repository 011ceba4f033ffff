import PostgresClient

/// One app of a running registry, with a key of each role. Apps do not affect each other, so tests share a
/// registry and have one app each.
public struct RegistryApp: Sendable {
    public enum Role: String, CaseIterable, Sendable {
        case client, service, sender, marketing, support, admin
    }

    /// The credential of a call.
    public enum Credential: Sendable {
        case role(Role)
        case text(String)
        case none
    }

    public let registry: Registry
    public let id: String
    private let keys: [Role: (id: String, text: String)]

    public var path: String { "/v1/apps/\(id)" }
    public var database: TestDatabase { registry.database }

    public func key(_ role: Role) -> String { keys[role]?.text ?? "" }
    public func keyID(_ role: Role) -> String { keys[role]?.id ?? "" }

    /// Creates an app.
    public static func make(in registry: Registry, policy: JSON = [:]) async throws -> RegistryApp {
        let id = "com.example.t\(UInt64.random(in: 0...UInt64.max))"
        let response = try await registry.send("PUT", "/v1/apps/\(id)", policy)
        guard response.status == 201 else { throw UnexpectedResponse(response: response) }
        var keys: [Role: (id: String, text: String)] = [:]
        for role in Role.allCases {
            let response = try await registry.send(
                "POST", "/v1/apps/\(id)/keys", ["name": .string(role.rawValue), "roles": [.string(role.rawValue)]])
            guard let keyID = response.json["id"].string, let text = response.json["key"].string else {
                throw UnexpectedResponse(response: response)
            }
            keys[role] = (keyID, text)
        }
        return RegistryApp(registry: registry, id: id, keys: keys)
    }

    /// Sends a request about this app.
    public func send(
        _ method: String, _ rest: String, _ body: JSON? = nil, by credential: Credential = .role(.service),
        fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        try await registry.client.response(to: request(method, rest, body, by: credential, fields: fields))
    }

    public func request(
        _ method: String, _ rest: String, _ body: JSON? = nil, by credential: Credential = .role(.service),
        fields: [(String, String)] = []
    ) -> HTTPRequest {
        .make(method, path + rest, body, key: text(of: credential), fields: fields)
    }

    /// The key or token of a credential.
    public func text(of credential: Credential) -> String? {
        switch credential {
        case .role(let role): key(role)
        case .text(let text): text
        case .none: nil
        }
    }
}

// MARK: - Installations

extension RegistryApp {
    /// The request that registers an installation, by default with `SampleRegistration.make`.
    public func registration(
        _ installID: String, _ body: JSON? = nil, as user: String? = nil, session: String? = nil,
        ifMatch: String? = nil, by credential: Credential = .role(.service)
    ) -> HTTPRequest {
        let named = [("X-User-Id", user), ("X-Session-Id", session), ("If-Match", ifMatch)]
        return request(
            "PUT", "/installations/\(installID)", body ?? SampleRegistration.make(installID), by: credential,
            fields: named.compactMap { name, value in value.map { (name, $0) } })
    }

    /// Registers an installation.
    public func put(
        _ installID: String, _ body: JSON? = nil, as user: String? = nil, session: String? = nil,
        ifMatch: String? = nil, by credential: Credential = .role(.service)
    ) async throws -> HTTPResponse {
        try await registry.client.response(
            to: registration(installID, body, as: user, session: session, ifMatch: ifMatch, by: credential))
    }

    public func get(_ installID: String, by credential: Credential = .role(.service)) async throws -> HTTPResponse {
        try await send("GET", "/installations/\(installID)", by: credential)
    }

    public func delete(
        _ installID: String, ifMatch: String? = nil, by credential: Credential = .role(.service)
    ) async throws -> HTTPResponse {
        try await send(
            "DELETE", "/installations/\(installID)", by: credential, fields: ifMatch.map { [("If-Match", $0)] } ?? [])
    }

    /// An installation's events, oldest first.
    public func events(of installID: String) async throws -> [TokenEventRow] {
        try await database.rows(
            """
            SELECT event::text, reason, actor, encode(token_sha256, 'hex'), user_id, previous_user_id, state::text,
                generation_before, generation_after
            FROM token_event JOIN app ON app.id = app_id
            WHERE identifier = \(id) AND install_id = \(installID) ORDER BY token_event.id
            """
        ).map { try TokenEventRow($0) }
    }
}

/// A row of the history.
public struct TokenEventRow: Sendable, Hashable {
    public let event: String
    public let reason: String
    public let actor: String
    public let tokenSHA256: String?
    public let userID: String?
    public let previousUserID: String?
    public let state: String
    public let generationBefore: Int64
    public let generationAfter: Int64

    init(_ row: PostgresRow) throws {
        event = try row.decode(0)
        reason = try row.decode(1)
        actor = try row.decode(2)
        tokenSHA256 = try row.decode(3)
        userID = try row.decode(4)
        previousUserID = try row.decode(5)
        state = try row.decode(6)
        generationBefore = try row.decode(7)
        generationAfter = try row.decode(8)
    }
}

/// An unexpected response during the preparation of a test.
public struct UnexpectedResponse: Error, CustomStringConvertible {
    let response: HTTPResponse

    public init(response: HTTPResponse) { self.response = response }

    public var description: String { "\(response.status) \(response.text)" }
}
