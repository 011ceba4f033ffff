import EmbeddedPostgres
import Logging

/// Servers that stay up from one test to the next. A borrower has one for itself, with a new database.
///
/// They end with this process, like every throw-away cluster.
actor WarmServers {
    private static let shared = WarmServers()

    private var idle: [WarmServer] = []

    private func take() -> WarmServer? { idle.popLast() }
    private func add(_ server: WarmServer) { idle.append(server) }

    /// Lends a server that no other borrower uses.
    ///
    /// A borrower that stopped, killed or suspended the server, or changed more than its database, leaves it to be
    /// removed.
    static func with<Value: Sendable>(
        _ template: DatabaseTemplate?, logger: Logger, _ body: (EmbeddedPostgres) async throws -> Value
    ) async throws -> Value {
        let idle = await shared.take()
        let warm = if let idle { idle } else { try await WarmServer.start(logger: logger) }
        let result: Result<Value, any Error>
        do {
            try await warm.makeDatabase(from: template)
            result = .success(try await body(warm.server))
        } catch {
            result = .failure(error)
        }
        if await warm.dropDatabase() { await shared.add(warm) } else { await warm.end() }
        return try result.get()
    }
}

/// A database that is prepared once for each warm server, and then copied.
public struct DatabaseTemplate: Sendable {
    /// An SQL identifier of `[a-z_]`.
    let name: String
    let prepare: @Sendable (_ connectionString: String) async throws -> Void
    let completion: String

    /// - Parameters:
    ///   - name: `[a-z_]`; each process has one template of a name.
    ///   - completion: SQL that the service's role runs in every copy.
    ///   - prepare: fills the empty database, as the service's role, and closes its sessions.
    public init(
        name: String, completion: String = "",
        prepare: @escaping @Sendable (_ connectionString: String) async throws -> Void
    ) {
        (self.name, self.completion, self.prepare) = (name, completion, prepare)
    }
}

/// One server that stays up.
private final class WarmServer: Sendable {
    let server: EmbeddedPostgres
    private let templates = Templates()
    private let ending: AsyncStream<Void>.Continuation
    private let lending: Task<Void, any Error>

    /// The templates that the server has.
    private actor Templates {
        var names: Set<String> = []
        func add(_ name: String) { names.insert(name) }
    }

    private init(
        _ server: EmbeddedPostgres, ending: AsyncStream<Void>.Continuation, lending: Task<Void, any Error>
    ) {
        (self.server, self.ending, self.lending) = (server, ending, lending)
    }

    static func start(logger: Logger) async throws -> WarmServer {
        let (started, starting) = AsyncThrowingStream.makeStream(of: EmbeddedPostgres.self)
        let (ends, ending) = AsyncStream.makeStream(of: Void.self)
        let lending = Task {
            do {
                try await ThrowawayCluster.lend(logger: logger) { server in
                    starting.yield(server)
                    for await _ in ends {}
                }
                starting.finish()
            } catch {
                starting.finish(throwing: error)
                throw error
            }
        }
        for try await server in started {
            try await server.execute("DROP DATABASE \(ClusterData.serviceName)")
            return WarmServer(server, ending: ending, lending: lending)
        }
        throw CancellationError()
    }

    /// Stops the server and removes its folder.
    func end() async {
        ending.finish()
        _ = await lending.result
    }

    /// Creates the borrower's database.
    func makeDatabase(from template: DatabaseTemplate?) async throws {
        let name = ClusterData.serviceName
        guard let template else { return try await server.execute("CREATE DATABASE \(name) OWNER \(name)") }
        if await !templates.names.contains(template.name) {
            try await server.execute("CREATE DATABASE \(template.name) OWNER \(name)")
            try await template.prepare(server.connectionString(to: template.name))
            await templates.add(template.name)
        }
        try await server.execute(
            """
            CREATE DATABASE \(name) OWNER \(name) TEMPLATE \(template.name);
            \\connect \(name) \(name)
            \(template.completion)
            """)
    }

    /// - Returns: false if the server cannot be lent again.
    func dropDatabase() async -> Bool {
        guard await server.isUntouched else { return false }
        let databases = ["postgres", "template0", "template1"] + (await templates.names)
        let known = databases.map { "'\($0)'" }.joined(separator: ", ")
        do {
            try await server.execute(
                """
                DROP DATABASE \(ClusterData.serviceName) WITH (FORCE);
                DO $$ BEGIN
                    IF EXISTS (SELECT FROM pg_database WHERE datname NOT IN (\(known)))
                        OR EXISTS (SELECT FROM pg_db_role_setting)
                        OR EXISTS (SELECT FROM pg_roles WHERE rolname !~ '^(pg_.*|postgres|\(ClusterData.serviceName))$'
                            OR rolconnlimit <> -1)
                        OR EXISTS (SELECT FROM pg_tablespace WHERE spcname !~ '^pg_')
                        OR EXISTS (SELECT FROM pg_replication_slots)
                        OR EXISTS (SELECT FROM pg_prepared_xacts)
                        OR EXISTS (SELECT FROM pg_file_settings WHERE sourcefile ~ 'postgresql\\.auto\\.conf$')
                    THEN RAISE EXCEPTION 'the borrower changed more than its database'; END IF;
                END $$;
                """)
            return true
        } catch {
            return false
        }
    }
}

/// A semaphore for tests. Test runners start dozens of tests at once; if all of them used servers, each would be slow.
///
/// A task that holds a permit must not wait for another one.
package actor TestSemaphore {
    /// Limits the throw-away clusters that a process runs at once.
    static let clusters = TestSemaphore(count: 4)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(count: Int) {
        free = count
    }

    package func wait() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    package func signal() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
