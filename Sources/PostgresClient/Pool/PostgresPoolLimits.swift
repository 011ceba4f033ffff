/// The limits of one pool, which is one loop's: a process has as many pools as loops.
public struct PostgresPoolLimits: Sendable {
    /// Kept open always.
    public var connectionsMin: Int
    /// Opened while somebody waits. Times the loops, it must stay below the server's `max_connections`.
    public var connectionsMax: Int
    /// Connections that are left to shared units however many transactions wait for one.
    public var sharedConnectionsMin = 0
    /// Units in flight on a shared connection: enough to hide the round trip, few enough that the other connections
    /// get their part.
    public var unitsPerConnection = 8
    /// Tasks that wait for a connection. Beyond it the service is overloaded and says so at once.
    public var waitersMax = 1_024
    /// How long a task waits for a busy pool.
    public var waitTimeout = Duration.seconds(5)
    /// How long a task waits for a pool whose server is away: long enough for a quick restart, too short to pile up.
    public var unavailableTimeout = Duration.milliseconds(500)
    /// How long a unit may take, from its sending to its results.
    public var unitTimeout = Duration.seconds(10)
    /// The wait before the second attempt to connect; the first comes at once.
    public var backoffMin = Duration.milliseconds(50)
    /// A server that returns is found within this time.
    public var backoffMax = Duration.milliseconds(1_000)
    /// How long a shut-down waits for borrowed connections.
    public var shutDownTimeout = Duration.seconds(5)

    public init(connectionsMin: Int = 4, connectionsMax: Int = 4) {
        precondition(connectionsMin >= 0 && connectionsMax >= max(1, connectionsMin), "a pool has connections")
        self.connectionsMin = connectionsMin
        self.connectionsMax = connectionsMax
    }
}
