public import EventLoop
public import PostgresClient
import PushRegistry

/// The shared resources of the stores of one event loop.
public struct LoopResources: Sendable {
    public let postgres: PostgresClient
    let cells: RollUpCells
    /// The turns of transactions that may wait for locks: few at a time, so that other connections of the loop stay
    /// free.
    let lone: Turns
    /// The turns of transactions of contended writes (`FairQueue`).
    let contended: Turns
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
    public static func sharing(_ pools: [PostgresClient]) -> [LoopResources] {
        let cells = RollUpCells()
        return pools.map { LoopResources($0, cells) }
    }

    public init(postgres: PostgresClient) {
        self.init(postgres, RollUpCells())
    }

    init(_ postgres: PostgresClient, _ cells: RollUpCells) {
        self.postgres = postgres
        self.cells = cells
        lone = Self.turns(Self.loneMax, of: postgres)
        contended = Self.turns(Self.contendedMax, of: postgres)
    }

    private static func turns(_ count: Int, of postgres: PostgresClient) -> Turns {
        Turns(
            loop: postgres.loop, count: postgres.isDistributed ? turnsOnCitusMax : count, waitingMax: waitingMax,
            waitMax: waitMax)
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
        guard postgres.isDistributed else { return try await body() }
        return try await outages.serving(app, on: loop, body)
    }
}
