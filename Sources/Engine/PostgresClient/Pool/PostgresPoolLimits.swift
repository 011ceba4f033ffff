/// The limits of one pool. Each event loop has its own pools.
public struct PostgresPoolLimits: Sendable {
    /// The number of connections that are always open.
    public var connectionsMin: Int
    /// The pool opens more connections while a caller waits. Multiplied by the number of loops, this must stay below
    /// the server's `max_connections`.
    public var connectionsMax: Int
    /// Connections reserved for shared units, however many transactions wait.
    public var sharedConnectionsMin = 0
    /// Units in flight on a shared connection: enough to hide the round trip, few enough to use the other connections
    /// too.
    public var unitsPerConnection = 8
    /// Tasks that wait for a connection. Beyond it the service is overloaded, and further calls fail at once
    /// (`queueFull`).
    public var waitersMax = 1_024
    /// How long a task waits for a busy pool (`timeout`).
    public var waitTimeout = Duration.seconds(5)
    /// How long a task waits for a pool whose server is unreachable (`unavailable`): long enough for a quick restart,
    /// too short for requests to pile up.
    public var unavailableTimeout = Duration.milliseconds(500)
    /// How long a unit may take, from its sending to its results.
    public var unitTimeout = Duration.seconds(10)
    /// The delay before the second attempt to connect; the first is immediate.
    public var backoffMin = Duration.milliseconds(50)
    /// The longest delay between attempts, and so the time to reconnect to a server that has returned.
    public var backoffMax = Duration.milliseconds(1_000)
    /// How long a shutdown waits for borrowed connections.
    public var shutDownTimeout = Duration.seconds(5)

    /// Traps unless `connectionsMin` is at least 0, and `connectionsMax` at least 1 and not below `connectionsMin`.
    public init(connectionsMin: Int = 4, connectionsMax: Int = 4) {
        precondition(connectionsMin >= 0 && connectionsMax >= max(1, connectionsMin), "a pool must have connections")
        self.connectionsMin = connectionsMin
        self.connectionsMax = connectionsMax
    }
}
