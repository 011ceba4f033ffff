import Basics
public import EventLoop
public import PostgresClient
import PushRegistry

/// The shared resources of the stores of one event loop.
public struct LoopResources: Sendable {
    public let postgres: PostgresClient
    /// Whether PostgreSQL is the coordinator of a Citus cluster.
    let isDistributed: Bool
    let cells: RollUpCells
    /// The turns of transactions that may wait for locks: few at a time, so that other connections of the loop stay
    /// free.
    let lone: Turns
    /// The turns of transactions of contended writes (`FairQueue`).
    let contended: Turns
    /// Of all loops of the process.
    public let writes: RefusedWrites
    private let outages = AppOutageLog()

    private static let loneMax = 2
    private static let contendedMax = 1
    /// Of either kind. On Citus, calls about apps of a node that hangs have some of them for a while.
    private static let turnsOnCitusMax = 4
    /// Of an app. A turn takes milliseconds, unless another transaction keeps a lock.
    private static let waitingMax = 4_096
    private static let waitMax = Duration.seconds(10)

    public var loop: EventLoop { postgres.loop }

    /// Those of all loops of a process, which share the known cells.
    public static func sharing(_ pools: [PostgresClient], isDistributed: Bool = false) -> [LoopResources] {
        let (cells, writes) = (RollUpCells(), RefusedWrites())
        return pools.map { LoopResources($0, cells, writes, isDistributed: isDistributed) }
    }

    public init(postgres: PostgresClient, isDistributed: Bool = false) {
        self.init(postgres, RollUpCells(), isDistributed: isDistributed)
    }

    init(
        _ postgres: PostgresClient, _ cells: RollUpCells, _ writes: RefusedWrites = RefusedWrites(),
        isDistributed: Bool = false
    ) {
        func turns(_ count: Int) -> Turns {
            Turns(
                loop: postgres.loop, count: isDistributed ? Self.turnsOnCitusMax : count, waitingMax: Self.waitingMax,
                waitMax: Self.waitMax)
        }
        self.postgres = postgres
        self.isDistributed = isDistributed
        self.cells = cells
        self.writes = writes
        lone = turns(Self.loneMax)
        contended = turns(Self.contendedMax)
    }
}

extension LoopResources {
    /// Runs the statements of a call about one app.
    ///
    /// On Citus, a call is refused at once while the app's node hangs: calls that wait would take the connections that
    /// other apps need.
    ///
    /// - Throws: what `body` throws; `StoreError.unavailable`.
    func serving<Value>(_ app: AppNumber, _ body: () async throws -> Value) async throws -> Value {
        guard isDistributed else { return try await body() }
        return try await outages.serving(app, on: loop, body)
    }

    /// As `serving`, with the errors of ``RegistryStore/storing(refusing:_:)``.
    func storing<Value, Refusal: Error>(
        _ app: AppNumber, refusing: Refusal.Type = StoreError.self, _ body: () async throws -> Value
    ) async throws -> Value {
        try await RegistryStore.storing(refusing: refusing) { try await serving(app, body) }
    }
}

/// Whether the database refuses writes while it may serve reads: its disk is full, for example.
public final class RefusedWrites: Sendable {
    private let last = Locked<PostgresError.Kind?>(nil)

    init() {}

    /// The reason for which the last write was refused; nil if a later one was not.
    public var reason: PostgresError.Kind? { last.withLock { $0 } }

    /// - Parameter body: a write.
    func noting<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            last.withLock { $0 = nil }
            return value
        } catch let error as PostgresError {
            if [.diskFull, .outOfMemory, .tooManyConnections, .readOnly].contains(error.kind) {
                last.withLock { $0 = error.kind }
            }
            throw error
        }
    }
}

/// Which migrations a database has, for `GET /readyz`.
public enum SchemaVersion {
    /// GET /readyz: reads the newest migration.
    private static let newestMigration = PreparedSQL(
        "SELECT coalesce(max(version), 0)::bigint FROM schema_migration")

    /// The number of the newest migration; 0 if there is none.
    ///
    /// - Throws: `PostgresError`, also if there is no table of migrations.
    public static func read(_ postgres: PostgresClient) async throws -> Int {
        try await postgres.read(newestMigration())[0].decode(0)
    }

    /// Whether the database responds.
    public static func isReadable(_ postgres: PostgresClient) async -> Bool {
        (try? await read(postgres)) != nil
    }
}
