public import EmbeddedPostgres
public import Logging

/// A cluster for tests and benchmarks, in a folder under `/tmp` that is removed afterwards.
public enum ThrowawayCluster {
    /// Lends a running server to `body`, then stops it and removes its folder, however `body` ends. If this process
    /// dies meanwhile, even by SIGKILL, the server is stopped and the folder removed as well.
    ///
    /// At most four are lent at once, so `body` must not request another. The data is a copy of a template, which the
    /// user's first call creates in a second or two. The server runs with `fsync` off unless `settings` turn it on.
    ///
    /// - Parameters:
    ///   - settings: PostgreSQL's, which override this module's defaults.
    ///   - listensOnLoopback: also opens a free TCP port of 127.0.0.1, where every local user can connect as the
    ///     service's role (never as a superuser): for proxies, which need an address.
    ///   - environment: variables of the server's process, for a cluster in this folder, which every user can enter.
    /// - Throws: what `body` throws, or ``EmbeddedPostgresError``.
    public static func with<Value: Sendable>(
        settings: [String: String] = [:], listensOnLoopback: Bool = false,
        environment: (_ folder: String) -> [String: String] = { _ in [:] },
        logger: Logger = Logger(label: "throwaway-cluster"),
        _ body: (EmbeddedPostgres) async throws -> Value
    ) async throws -> Value {
        try await withPermit {
            try await lend(
                settings, listensOnLoopback: listensOnLoopback, environment: environment, logger: logger, body)
        }
    }

    /// Lends a server that stays up for later borrowers, with a new database: much faster than a cluster.
    ///
    /// It is one of the four clusters that are lent at once, so `body` must not request another. The server has had
    /// other databases: transaction ids and statistics do not begin at zero. A borrower that stops, kills or suspends
    /// it, or changes more than its database, leaves it to be removed.
    ///
    /// - Parameter template: the database is a copy of it; by default it is empty.
    /// - Throws: what `body` throws, or ``EmbeddedPostgresError``.
    public static func withDatabase<Value: Sendable>(
        from template: DatabaseTemplate? = nil, logger: Logger = Logger(label: "throwaway-cluster"),
        _ body: (EmbeddedPostgres) async throws -> Value
    ) async throws -> Value {
        try await withPermit { try await WarmServers.with(template, logger: logger, body) }
    }

    /// Lends a server and its standby, which together count as one cluster. The caller may kill either; SQL promotes
    /// the standby, `pg_promote()`.
    ///
    /// Commits wait for the standby if `synchronous_standby_names` contains its name, `standby`.
    ///
    /// - Throws: what `body` throws, or ``EmbeddedPostgresError``.
    public static func withStandby<Value: Sendable>(
        logger: Logger = Logger(label: "throwaway-cluster"),
        _ body: (_ primary: EmbeddedPostgres, _ standby: EmbeddedPostgres) async throws -> Value
    ) async throws -> Value {
        try await withPermit {
            try await lend(logger: logger) { primary in
                let origin = ClusterOrigin.standby(of: primary.superuserConnectionString, name: "standby")
                return try await lend(from: origin, logger: logger) { standby in try await body(primary, standby) }
            }
        }
    }

    /// Lends several servers, which together count as one cluster: the nodes of a distributed engine.
    ///
    /// - Throws: what `body` throws, or ``EmbeddedPostgresError``.
    public static func withServers<Value: Sendable>(
        _ count: Int, settings: [String: String] = [:], logger: Logger = Logger(label: "throwaway-cluster"),
        _ body: ([EmbeddedPostgres]) async throws -> Value
    ) async throws -> Value {
        try await withPermit { try await lend(count, [], settings, logger: logger, body) }
    }

    private static func lend<Value: Sendable>(
        _ count: Int, _ servers: [EmbeddedPostgres], _ settings: [String: String], logger: Logger,
        _ body: ([EmbeddedPostgres]) async throws -> Value
    ) async throws -> Value {
        guard servers.count < count else { return try await body(servers) }
        return try await lend(settings, logger: logger) { server in
            try await lend(count, servers + [server], settings, logger: logger, body)
        }
    }

    private static func withPermit<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        await TestSemaphore.clusters.wait()
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await TestSemaphore.clusters.signal()
        return try result.get()
    }

    /// - Parameter origin: a copy of the template by default.
    static func lend<Value: Sendable>(
        from origin: ClusterOrigin? = nil, _ settings: [String: String] = [:], listensOnLoopback: Bool = false,
        environment: (_ folder: String) -> [String: String] = { _ in [:] }, logger: Logger,
        _ body: (EmbeddedPostgres) async throws -> Value
    ) async throws -> Value {
        let reservation = try await ThrowawayFolder.reserve(logger: logger)
        defer { reservation.remove() }
        return try await Watchdog.guarding(reservation.path) {
            let server = try await EmbeddedPostgres.start(
                directory: reservation.path, lock: reservation.lock,
                origin: origin ?? .copy(of: reservation.template), settings: settings,
                defaults: ServerSettings.throwaway,
                // Free now: another process may use it before the server does.
                loopbackPort: listensOnLoopback ? try TestListener().port : nil,
                environment: environment(reservation.path), logger: logger)
            let result: Result<Value, any Error>
            do { result = .success(try await body(server)) } catch { result = .failure(error) }
            try await server.stop(.immediate)
            return try result.get()
        }
    }
}
