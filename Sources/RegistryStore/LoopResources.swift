public import EventLoop
public import PostgresClient

/// What the stores of one event loop share.
public struct LoopResources: Sendable {
    public let postgres: PostgresClient
    let clock: RegistryClock
    let cells: RollUpCells
    /// Transactions that may wait for somebody's lock: few at a time, so that the loop's other connections stay free.
    let lone: Turns

    private static let loneMax = 2
    /// A turn takes milliseconds, unless somebody holds a lock.
    private static let loneWaitingMax = 4_096

    public var loop: EventLoop { postgres.loop }

    /// - Parameter clock: one for the whole process.
    public init(postgres: PostgresClient, clock: RegistryClock) {
        self.postgres = postgres
        self.clock = clock
        cells = RollUpCells()
        lone = Turns(loop: postgres.loop, count: Self.loneMax, waitingMax: Self.loneWaitingMax)
    }
}
