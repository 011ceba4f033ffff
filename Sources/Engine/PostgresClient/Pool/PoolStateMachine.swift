import DequeModule

/// The decisions of a pool, as a value: events in, actions out. It has no clock, no socket and no continuation.
///
/// Only one attempt to connect runs at a time, so an unreachable server costs one thread, not one per connection.
struct PoolStateMachine {
    typealias ConnectionID = Int
    typealias WaiterID = Int
    typealias Instant = ContinuousClock.Instant

    enum Use: Hashable {
        /// For one unit, together with the units of others.
        case shared
        /// For one borrower only: a transaction.
        case exclusive
    }

    enum Request: Equatable {
        case lend(ConnectionID)
        case wait(WaiterID)
        case refuse(PostgresError.Kind)
    }

    enum Action: Equatable {
        case connect(ConnectionID, after: Duration)
        case lend(ConnectionID, WaiterID, Use)
        case refuse(WaiterID, PostgresError.Kind)
        case close(ConnectionID)
        /// Everything is closed after a shutdown.
        case finish
    }

    struct Connection {
        let id: ConnectionID
        var shares = 0
        var isExclusive = false

        var isIdle: Bool { shares == 0 && !isExclusive }
    }

    struct Waiter {
        let id: WaiterID
        let use: Use
        var deadline: Instant
    }

    private enum Phase {
        case new
        case running
        case shuttingDown
        case finished
    }

    let limits: PostgresPoolLimits
    private var phase = Phase.new
    private(set) var connections: [Connection] = []
    private(set) var waiters: Deque<Waiter> = []
    /// The attempt in progress, or waiting for its delay.
    private var attempt: ConnectionID?
    private var failures = 0
    private var ids = 0

    init(limits: PostgresPoolLimits) {
        self.limits = limits
    }

    /// Whether the pool has a connection.
    var isReachable: Bool { !connections.isEmpty }
    /// Whether the pool has no connection, because the last attempts to open one failed.
    var isFailing: Bool { failures > 0 && connections.isEmpty }

    /// The latest time at which `expire` must be called.
    var nextDeadline: Instant? { waiters.lazy.map(\.deadline).min() }
}

// MARK: - Borrowing

extension PoolStateMachine {
    mutating func borrow(_ use: Use, now: Instant) -> (request: Request, actions: [Action]) {
        guard phase == .new || phase == .running else { return (.refuse(.closed), []) }
        if !mustWait(use), let id = acquire(use) { return (.lend(id), []) }
        guard waiters.count < limits.waitersMax else { return (.refuse(.queueFull), []) }
        ids += 1
        waiters.append(Waiter(id: ids, use: use, deadline: now + waitTimeout))
        return (.wait(ids), open())
    }

    /// First come, first served, for each use; for both uses together if there is one connection.
    private func mustWait(_ use: Use) -> Bool {
        connections.count > 1 ? waiters.contains { $0.use == use } : !waiters.isEmpty
    }

    mutating func release(_ id: ConnectionID, _ use: Use, isReusable: Bool) -> [Action] {
        guard let index = connections.firstIndex(where: { $0.id == id }) else { return [] }
        switch use {
        case .shared: connections[index].shares -= 1
        case .exclusive: connections[index].isExclusive = false
        }
        guard isReusable else {
            connections.remove(at: index)
            return [.close(id)] + open() + finish()
        }
        return phase == .shuttingDown ? closeIdle() : serve()
    }

    mutating func abandon(_ waiter: WaiterID) {
        waiters.removeAll { $0.id == waiter }
    }

    /// Refuses waiters whose deadline has passed: `timeout` if the pool is busy, `unavailable` if it has no connection.
    mutating func expire(now: Instant) -> [Action] {
        let expired = waiters.filter { $0.deadline <= now }
        waiters.removeAll { $0.deadline <= now }
        return expired.map { .refuse($0.id, connections.isEmpty ? .unavailable : .timeout) }
    }

    /// While the server is unreachable, callers wait only briefly: otherwise requests would pile up.
    private var waitTimeout: Duration { isFailing ? limits.unavailableTimeout : limits.waitTimeout }

    private mutating func serve() -> [Action] {
        var actions: [Action] = []
        var blocked = Set<Use>()
        while let index = waiters.firstIndex(where: { !blocked.contains($0.use) }) {
            let waiter = waiters[index]
            if let id = acquire(waiter.use) {
                actions.append(.lend(id, waiters.remove(at: index).id, waiter.use))
            } else {
                blocked.formUnion(connections.count > 1 ? [waiter.use] : [.shared, .exclusive])
            }
        }
        return actions + open()
    }

    /// For a shared unit: the least used connection with room. For an exclusive borrower: a free connection. A
    /// connection with shared users is not free: a user may not have sent its unit yet, which would then run within the
    /// exclusive borrower's transaction.
    ///
    /// `sharedConnectionsMin` connections are reserved for shared units: transactions that wait for locks must not
    /// delay look-ups. While an exclusive borrower waits, shared units use one connection only, so that another becomes
    /// free.
    private mutating func acquire(_ use: Use) -> ConnectionID? {
        let free = connections.indices.filter { !connections[$0].isExclusive }
        let byUse = { [connections] (left: Int, right: Int) in connections[left].shares < connections[right].shares }
        let isExclusiveWaiting = use == .shared && waiters.contains { $0.use == .exclusive }
        guard let index = isExclusiveWaiting ? free.max(by: byUse) : free.min(by: byUse) else { return nil }
        switch use {
        case .shared:
            guard connections[index].shares < limits.unitsPerConnection else { return nil }
            connections[index].shares += 1
        case .exclusive:
            let isLeft = free.count > limits.sharedConnectionsMin || connections.count == 1
            guard connections[index].isIdle, isLeft else { return nil }
            connections[index].isExclusive = true
        }
        return connections[index].id
    }
}

// MARK: - Opening and closing connections

extension PoolStateMachine {
    /// Opens connections. Finishes at once if the shutdown came first: a task may be cancelled before it begins.
    mutating func run() -> [Action] {
        switch phase {
        case .new:
            phase = .running
            return open()
        case .running, .shuttingDown: return []
        case .finished: return [.finish]
        }
    }

    mutating func connected(_ id: ConnectionID) -> [Action] {
        guard attempt == id else { return [.close(id)] }
        attempt = nil
        guard phase == .running else { return [.close(id)] + finish() }
        failures = 0
        connections.append(Connection(id: id))
        return serve()
    }

    /// - Parameter jitter: random, from 0 to 1, so that loops that lost the same server do not reconnect at the same
    ///   time.
    mutating func connectFailed(_ id: ConnectionID, jitter: Double, now: Instant) -> [Action] {
        guard attempt == id else { return [] }
        attempt = nil
        failures += 1
        shortenWaits(now)
        return open(jitter: jitter) + finish()
    }

    /// The connection broke, or its user closed it.
    mutating func lost(_ id: ConnectionID) -> [Action] {
        guard let index = connections.firstIndex(where: { $0.id == id }) else { return [] }
        connections.remove(at: index)
        return open() + finish()
    }

    /// Lends no more connections. A borrowed connection is closed when it is returned, and a new one as soon as it is
    /// open.
    mutating func shutDown() -> [Action] {
        guard phase != .finished else { return [] }
        phase = .shuttingDown
        let refused = waiters.map { Action.refuse($0.id, .closed) }
        waiters.removeAll()
        return refused + closeIdle()
    }

    /// Closes all connections at once, including lent ones, and ends the pool.
    mutating func closeAll() -> [Action] {
        attempt = nil
        let left = connections.map { Action.close($0.id) }
        connections.removeAll()
        return left + finish()
    }

    private mutating func closeIdle() -> [Action] {
        let idle = connections.filter(\.isIdle)
        connections.removeAll(where: \.isIdle)
        return idle.map { .close($0.id) } + finish()
    }

    private mutating func finish() -> [Action] {
        guard phase == .shuttingDown, connections.isEmpty, attempt == nil else { return [] }
        phase = .finished
        return [.finish]
    }

    private mutating func shortenWaits(_ now: Instant) {
        guard connections.isEmpty else { return }
        for index in waiters.indices {
            waiters[index].deadline = min(waiters[index].deadline, now + limits.unavailableTimeout)
        }
    }

    /// Starts an attempt if a connection is missing: there are always `connectionsMin`, and up to `connectionsMax`
    /// while callers wait.
    private mutating func open(jitter: Double = 0) -> [Action] {
        let wanted = waiters.isEmpty ? limits.connectionsMin : limits.connectionsMax
        guard phase == .running, attempt == nil, connections.count < wanted else { return [] }
        ids += 1
        attempt = ids
        return [.connect(ids, after: backoff(jitter))]
    }

    /// Zero at first, then `backoffMin`, doubled up to the maximum, minus a random part of up to a quarter.
    private func backoff(_ jitter: Double) -> Duration {
        guard failures > 0 else { return .zero }
        let doubled = limits.backoffMin * (1 << min(failures - 1, 16))
        return min(doubled, limits.backoffMax) * (1 - jitter / 4)
    }
}

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
