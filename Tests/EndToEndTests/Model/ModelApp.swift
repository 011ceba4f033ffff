import PostgresClient
import RegistryTestSupport

/// An app of a running service with its oracle.
struct ModelApp: Sendable {
    /// The objects of the calls. There are few of each, since calls without interference find no faults.
    static let phones = (0..<4).map { "phone-\($0)" }
    static let tokens = (0..<4).map { "\($0)bcdef0123456789" }
    /// Beside the main ones; in the order of their digests.
    static let typedTokens = ["3bcdef9876543210", "6bcdef9876543210", "1bcdef9876543210"]
    static let users = ["alice", "bob", "carol"]

    let app: RegistryApp
    private var oracle: Oracle
    /// The generations of each phone in the responses to each client, the newest last.
    private var known: [[String: [Int64]]] = []

    init(in registry: Registry) async throws {
        var policy = UserJWT.policy
        policy["sessionTombstones"] = "PT70H30M"
        app = try await RegistryApp.make(in: registry, policy: policy)
        oracle = Oracle(
            actors: Oracle.Actors(
                service: "service:\(app.keyID(.service))", client: "client:\(app.keyID(.client))", jwt: "client:tests",
                sender: "sender:\(app.keyID(.sender))"))
    }

    /// Lets all clients make the calls of a round concurrently.
    ///
    /// - Returns: the calls that may have reached the service.
    mutating func call(_ round: ModelPlan.Round) async throws -> [ModelStep] {
        while known.count < round.clients.count { known.append([:]) }
        var steps: [ModelStep] = []
        for volley in round.volleys {
            let done = try await race(volley.count) { [self] number in try await run(volley[number], number) }
            for part in done { known[part.number] = part.known }
            steps += done.flatMap(\.steps)
        }
        return steps
    }

    private func run(
        _ calls: [ModelPlan.Call], _ number: Int
    ) async throws -> (number: Int, known: [String: [Int64]], steps: [ModelStep]) {
        var (known, steps) = (known[number], [ModelStep]())
        for planned in calls {
            if planned.pauseMilliseconds > 0 { try await Task.sleep(for: .milliseconds(planned.pauseMilliseconds)) }
            let call = planned.call.resolved(at: Wall.microseconds, known: known)
            guard let step = await send(call, isAbandoned: planned.isAbandoned) else { continue }
            steps.append(step)
            if let generation = step.json["generation"].integer, let phone = call.phone {
                known[phone, default: []].append(generation)
            }
        }
        return (number, known, steps)
    }

    /// - Returns: nil if the service cannot have received it.
    private func send(_ call: ModelCall, isAbandoned: Bool) async -> ModelStep? {
        let (request, sent) = (app.request(call), Wall.microseconds)
        var response: HTTPResponse?
        do {
            if isAbandoned {
                try await TestConnection(port: app.registry.client.port).send(request.bytes)
            } else {
                response = try await app.registry.client.response(to: request)
            }
        } catch {
            if error == .cannotConnect { return nil }
        }
        return ModelStep(
            call: call, sent: sent, received: response == nil ? .max : Wall.microseconds, response: response)
    }

    /// Searches for a serial order that explains the responses and the tables, when nothing goes on any more.
    ///
    /// - Throws: `NoSerialOrder`.
    mutating func check(_ steps: [ModelStep]) async throws {
        let tables = try await ModelTables(of: app, ModelTables.Names(Self.tokens + Self.typedTokens + Self.users))
        let now = Wall.microseconds
        let bounded = steps.map { step in
            step.isAnswered ? step : step.lasting(until: now)
        }
        var search = Linearization(bounded, leadingTo: tables)
        oracle = try search.end(from: oracle)
        // Then several orders explain the tables.
        if steps.contains(where: \.hasSteppedClock) { oracle.adopt(tables.endTimes) }
    }

    /// Simulates a pause: makes all rows older.
    mutating func wait(hours: Int64) async throws {
        guard hours > 0 else { return }
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
            UPDATE session SET recorded_at = \(sql: .earlier("recorded_at", by: time)),
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
        case .expire: preconditionFailure("a command does this")
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
