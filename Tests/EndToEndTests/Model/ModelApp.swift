import PostgresClient
import RegistryTestSupport
import SeededRandom

/// An app of a running service with its oracle.
struct ModelApp: Sendable {
    let app: RegistryApp
    private let world: ModelClient.World
    private let names: ModelTables.Names
    private var clients: [ModelClient]
    private var random: SeededGenerator
    private var oracle: Oracle

    /// The pauses between two rounds, below and above the touch interval. No sum of them equals the lifetime of
    /// tombstones.
    private static let pauseHours: [Int64] = [3, 26, 60]

    /// - Parameter clients: the number of concurrent clients.
    init(in registry: Registry, _ world: ModelClient.World, clients count: Int, seed: UInt64) async throws {
        var policy = UserJWT.policy
        policy["sessionTombstones"] = "PT70H30M"
        app = try await RegistryApp.make(in: registry, policy: policy)
        self.world = world
        names = ModelTables.Names(world.tokens + world.users)
        random = SeededGenerator(seed: seed)
        clients = (0..<count).map { ModelClient(world, seed: seed &* 1_000 &+ UInt64($0)) }
        oracle = Oracle(
            actors: Oracle.Actors(
                service: "service:\(app.keyID(.service))", client: "client:\(app.keyID(.client))", jwt: "client:tests",
                sender: "sender:\(app.keyID(.sender))"))
    }

    /// Lets all clients concurrently make some calls each, and then searches for a serial order that explains the
    /// responses and the tables.
    ///
    /// - Returns: the statuses of the responses.
    /// - Throws: `NoSerialOrder`.
    mutating func round(calls: Int) async throws -> [Int] {
        if random.chance(40) { try await wait(hours: random.pick(Self.pauseHours)) }
        let done = try await race(clients.count) { [self, clients] number in
            try await run(clients[number], calls: calls, number)
        }.sorted { $0.number < $1.number }
        clients = done.map(\.client)
        var search = Linearization(done.map(\.log), leadingTo: try await ModelTables(of: app, names))
        oracle = try search.end(from: oracle)
        return done.flatMap(\.log).map(\.response.status)
    }

    private func run(
        _ client: ModelClient, calls: Int, _ number: Int
    ) async throws -> (number: Int, client: ModelClient, log: [ModelStep]) {
        var client = client
        var log: [ModelStep] = []
        for _ in 0..<calls {
            let call = client.nextCall()
            let request = app.request(call)
            let sent = Wall.microseconds
            let response = try await app.registry.client.response(to: request)
            log.append(ModelStep(call: call, sent: sent, received: Wall.microseconds, response: response))
            client.learn(log[log.count - 1])
        }
        return (number, client, log)
    }

    /// Simulates a pause: makes all rows older.
    private mutating func wait(hours: Int64) async throws {
        let time = "\(hours) hours"
        let statements: [PostgresSQL] = [
            """
            UPDATE installation SET created_at = \(sql: .earlier("created_at", by: time)),
                registered_at = \(sql: .earlier("registered_at", by: time)),
                last_seen_at = \(sql: .earlier("last_seen_at", by: time)),
                state_changed_at = \(sql: .earlier("state_changed_at", by: time)),
                credential_issued_at = \(sql: .earlier("credential_issued_at", by: time))
            """,
            """
            UPDATE session SET seen_at = \(sql: .earlier("seen_at", by: time)),
                kept_at = \(sql: .earlier("kept_at", by: time)),
                ended_at = \(sql: .earlier("ended_at", by: time))
            """,
            "UPDATE user_guard SET refused_before = \(sql: .earlier("refused_before", by: time))",
            "UPDATE installation_logout SET logged_out_at = \(sql: .earlier("logged_out_at", by: time))",
        ]
        for statement in statements {
            let ofThisApp: PostgresSQL =
                "\(sql: statement) WHERE app_id = (SELECT id FROM app WHERE identifier = \(app.id))"
            _ = try await app.database.rows(PostgresStatement(ofThisApp))
        }
        oracle.age(by: hours * 3_600 * 1_000_000)
    }
}

// MARK: - Calls as requests

extension RegistryApp {
    fileprivate func request(_ call: ModelCall) -> HTTPRequest {
        switch call {
        case .register(let it):
            request("PUT", "/installations/\(it.phone)", it.body, by: it.credential, it.ifMatch)
        case .read(let phone, let credential): request("GET", "/installations/\(phone)", by: credential)
        case .list(let user): request("GET", "/users/\(user)/installations", by: .service)
        case .remove(let phone, let credential, let ifMatch):
            request("DELETE", "/installations/\(phone)", by: credential, ifMatch)
        case .logOut(let phone, let credential, let keepsAnonymous, let ifMatch):
            request(
                "POST", "/installations/\(phone)/logout", ["keepAnonymous": .boolean(keepsAnonymous)], by: credential,
                ifMatch, isLate: true)
        case .endSession(let session): request("DELETE", "/sessions/\(session)", by: .service)
        case .logOutUser(let user, let kept):
            request("POST", "/users/\(user)/logout", kept.map { ["exceptSessionId": .string($0)] } ?? [:], by: .service)
        case .erase(let user): request("DELETE", "/users/\(user)", by: .service)
        case .feedback(let items):
            request("POST", "/feedback", .array(items.map(\.json)), by: .role(.sender))
        }
    }

    /// - Parameter isLate: whether the credential may have expired, as in a call that was queued offline.
    private func request(
        _ method: String, _ rest: String, _ body: JSON? = nil, by credential: ModelCredential,
        _ ifMatch: ModelPrecondition? = nil, isLate: Bool = false
    ) -> HTTPRequest {
        var named = [("If-Match", ifMatch?.text)]
        if case .service(let user, let session, let expiresAt) = credential {
            named += [
                ("X-User-Id", user), ("X-Session-Id", session), ("X-Session-Expires-At", expiresAt.map(Wall.text)),
            ]
        }
        return request(
            method, rest, body, by: text(credential, isLate: isLate),
            fields: named.compactMap { name, value in value.map { (name, $0) } })
    }

    private func text(_ credential: ModelCredential, isLate: Bool) -> Credential {
        switch credential {
        case .service: return .role(.service)
        case .publishableKey: return .role(.client)
        case .jwt(let user, let session, let issuedAt):
            let issued = Int(issuedAt / 1_000_000)
            let now = Int(Wall.microseconds / 1_000_000)
            let isOld = now - issued > 3_600
            return UserJWT.make(
                user, session: session, issuedAt: issued, expiresAt: isLate && isOld ? issued + 900 : now + 900)
        }
    }
}

extension ModelFeedback {
    fileprivate var json: JSON {
        var json: JSON = ["reason": .string(reason)]
        if let phone { json["installId"] = .string(phone) }
        if let provider { json["provider"] = .string(provider) }
        if let token { json["token"] = .string(token) }
        if let at { json["timestamp"] = .string(Wall.text(at)) }
        if let generation { json["generation"] = .integer(generation) }
        return json
    }
}
