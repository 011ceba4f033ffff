import Foundation
import PushRegistryClient

/// A registry in memory, for an app's tests.
///
/// It is the transport of a client. It has one app and follows the rules of the service that a client can observe. The
/// service and this registry must pass the same checks (`ClientConformance`).
///
///     let registry = InMemoryRegistry()
///     let push = PushRegistryClient(
///         url: registry.url, app: registry.app, key: registry.key, storage: InMemoryStorage(), transport: registry)
///     await push.signIn { registry.credential(user: "alice") }
public actor InMemoryRegistry: PushRegistryClient.Transport {
    typealias JSON = PushRegistryClient.JSON
    typealias Request = PushRegistryClient.Request
    public typealias Response = PushRegistryClient.Response

    public nonisolated let url: URL
    public nonisolated let app: String
    /// The publishable key.
    public nonisolated let key: String
    nonisolated let clock: any PushRegistryClient.Clock

    var installations: [String: Installation] = [:]
    var endings = Endings()
    var catalogue: [String: TopicDefinition] = [:]
    var userTopics: [String: [String: Bool]] = [:]
    private var generation: Int64 = 1_000
    private var failures: [Response?] = []

    /// Whether the registry is reachable. If not, no request arrives.
    public private(set) var isReachable = true

    /// The most notifications that wait for an installation, as in the service's policy. One more drops the oldest.
    public private(set) var notificationsMax = 100

    /// How many active installations a user may have, as in the service's policy. One more supersedes the one that was
    /// not seen for the longest. Nil: any number.
    public private(set) var installationsPerUser: Int?

    /// The requests that arrived, oldest first.
    public private(set) var requests: [PushRegistryClient.Request] = []

    /// The receipts that were reported, with their events.
    public internal(set) var receipts: [String: Set<PushRegistryClient.ReceiptEvent>] = [:]

    public init(
        app: String = "com.example.app", key: String = "prk_test",
        clock: any PushRegistryClient.Clock = PushRegistryClient.SystemClock()
    ) {
        self.app = app
        self.key = key
        self.clock = clock
        var components = URLComponents()
        components.scheme = "https"
        components.host = "registry.invalid"
        url = components.url ?? URL(fileURLWithPath: "/")
    }

    /// A JWT of a user.
    ///
    /// - Parameter life: seconds from now until it expires; negative for an expired JWT.
    public nonisolated func credential(
        user: String, session: String? = nil, issuedAt: Date? = nil, life: TimeInterval = 900
    ) -> String {
        UserToken(
            sub: user, sid: session, iat: Int64((issuedAt ?? clock.now).timeIntervalSince1970),
            exp: Int64((clock.now + life).timeIntervalSince1970)
        ).text
    }

    public func setReachable(_ isReachable: Bool) {
        self.isReachable = isReachable
    }

    /// - Parameter count: 1 to 1,000.
    public func setNotificationsMax(_ count: Int) {
        notificationsMax = count
    }

    /// - Parameter count: 1 to 1,000; nil for any number.
    public func setInstallationsPerUser(_ count: Int?) {
        installationsPerUser = count
    }

    /// The next request gets this response and has no effect.
    ///
    /// - Parameter response: nil for a request that arrives and gets no response.
    public func respondToNext(with response: Response?) {
        failures.append(response)
    }

    /// The next request gets a problem document with this status, and with `Retry-After` if given.
    public func failNext(status: Int, code: String = "overloaded", retryAfter: Int? = nil) {
        var response = Refusal(status, code).response
        if let retryAfter { response.fields["retry-after"] = "\(retryAfter)" }
        failures.append(response)
    }

    public func send(_ request: PushRegistryClient.Request) async throws -> Response {
        guard isReachable else { throw URLError(.notConnectedToInternet) }
        requests.append(request)
        if !failures.isEmpty {
            guard let response = failures.removeFirst() else { throw URLError(.networkConnectionLost) }
            return response
        }
        do throws(Refusal) {
            return try response(to: request)
        } catch {
            return error.response
        }
    }

    private func response(to request: Request) throws(Refusal) -> Response {
        // A part may have a slash, which is encoded.
        let encoded = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? ""
        let path = encoded.split(separator: "/").map { $0.removingPercentEncoding ?? "" }
        if path == ["v1", "receipts"] {
            guard request.method == "POST" else { throw Refusal(405, "method-not-allowed") }
            return try acceptReceipts(request)
        }
        guard path.count >= 5, path[0] == "v1", path[1] == "apps", path[3] == "installations" else {
            throw Refusal(404, "not-found")
        }
        let call = Call(request: request, installID: path[4], rest: Array(path[5...]))
        switch (request.method, call.rest.first) {
        case ("GET", "notifications"): return try notifications(call, app: path[2])
        case ("PUT", nil): return try register(call, by: caller(call, app: path[2]))
        case ("GET", nil): return try record(call, by: caller(call, app: path[2]))
        case ("DELETE", nil): return try delete(call, by: caller(call, app: path[2]))
        case ("POST", "logout"): return try logOut(call, by: caller(call, app: path[2], lateness: 30 * 86_400))
        case ("PUT", "tokens"), ("DELETE", "tokens"):
            return try changeToken(call, by: caller(call, app: path[2]))
        case ("GET", "topics"): return try topics(call, by: caller(call, app: path[2]))
        case ("PATCH", "topics"): return try changeTopics(call, by: caller(call, app: path[2]))
        default: throw Refusal(404, "not-found")
        }
    }

    func nextGeneration() -> Int64 {
        generation += 1
        return generation
    }
}

// MARK: - For tests

extension InMemoryRegistry {
    /// An installation as the registry stores it.
    public struct InstallationView: Sendable, Hashable {
        public var state: String
        public var userID: String?
        public var token: String?
        public var generation: Int64
        /// The choices on this installation.
        public var topics: [String: Bool]
        /// The tokens beside the one for alerts, by kind and name.
        public var tokens: [TokenView]
    }

    public func installation(_ id: String) -> InstallationView? {
        installations[id].map { installation in
            let tokens = installation.tokens.live(at: clock.now).items.map { id, item in
                TokenView(
                    kind: id.kind, name: id.name, token: item.text,
                    expiresAt: item.expiresAt == .distantFuture ? nil : item.expiresAt)
            }
            return InstallationView(
                state: installation.state.rawValue, userID: installation.owner?.user, token: installation.token,
                generation: installation.generation, topics: installation.topics,
                tokens: tokens.sorted { ($0.kind.rawValue, $0.name ?? "") < ($1.kind.rawValue, $1.name ?? "") })
        }
    }

    /// The ids of all installations.
    public var installationIDs: [String] { installations.keys.sorted() }

    /// The installation that a push to this token reaches; nil without one.
    public func holder(of token: String) -> InstallationView? {
        installations.first { $0.value.token == token && $0.value.state == .active }.flatMap { installation($0.key) }
    }

    /// Ends a session, as the back end does.
    public func endSession(_ session: String) {
        endings.sessions.insert(session)
        for id in installations.keys where installations[id]?.owner?.session == session { unbind(id, to: .loggedOut) }
    }

    /// Logs a user out everywhere.
    public func logOut(user: String) {
        endings.users[user] = Int64(clock.now.timeIntervalSince1970)
        for id in installations.keys where installations[id]?.owner?.user == user {
            if let session = installations[id]?.owner?.session { endings.sessions.insert(session) }
            unbind(id, to: .loggedOut)
        }
    }

    func unbind(_ id: String, to state: Installation.State) {
        installations[id]?.change(to: nil, state, generation: nextGeneration())
    }
}
