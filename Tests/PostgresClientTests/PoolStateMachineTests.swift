import Testing

@testable import PostgresClient

@Suite("A pool decides without a server")
struct PoolStateMachineTests {
    private let start = ContinuousClock.now

    @Test func connections_areOpenedOneByOne_untilThereAreEnough() {
        var pool = PoolStateMachine(limits: .make(connections: 2))
        #expect(pool.run() == [.connect(1, after: .zero)])
        #expect(pool.connected(1) == [.connect(2, after: .zero)])
        #expect(pool.connected(2) == [])
        #expect(pool.isReachable)
    }

    @Test func sharedConnection_isTheLeastUsed_andHasAMaximum() {
        var pool = PoolStateMachine.makeRunning(connections: 2, unitsPerConnection: 2)
        let lent = (0..<4).map { _ in pool.borrow(.shared, now: start).request }
        #expect(Set(lent.map(\.connection)) == Set(pool.connections.map(\.id)))
        #expect(lent.count { $0 == lent[0] } == 2)
        #expect(pool.borrow(.shared, now: start).request.isWait)
    }

    @Test func exclusiveConnection_isNotShared() {
        var pool = PoolStateMachine.makeRunning(connections: 1)
        #expect(pool.borrow(.exclusive, now: start).request.connection != nil)
        #expect(pool.borrow(.shared, now: start).request.isWait)
    }

    /// A unit with a shared loan may be sent at any time until the loan is returned.
    @Test func exclusiveBorrower_waits_untilTheConnectionIsNotShared() {
        var pool = PoolStateMachine.makeRunning(connections: 1)
        let id = pool.connections[0].id
        for _ in 1...2 { _ = pool.borrow(.shared, now: start) }
        let waiter = pool.borrow(.exclusive, now: start).request.waiter
        #expect(pool.borrow(.shared, now: start).request.isWait)
        #expect(pool.release(id, .shared, isReusable: true) == [])
        #expect(pool.release(id, .shared, isReusable: true) == [.lend(id, waiter, .exclusive)])
    }

    @Test func waiters_areServedInOrder_whenAConnectionIsReleased() {
        var pool = PoolStateMachine.makeRunning(connections: 1)
        let id = pool.connections[0].id
        _ = pool.borrow(.exclusive, now: start)
        let first = pool.borrow(.exclusive, now: start).request.waiter
        let second = pool.borrow(.shared, now: start).request.waiter
        #expect(pool.release(id, .exclusive, isReusable: true) == [.lend(id, first, .exclusive)])
        #expect(pool.release(id, .exclusive, isReusable: true) == [.lend(id, second, .shared)])
    }

    @Test func sharedUnits_keepAConnection_whileTransactionsHaveAllOthers() {
        var pool = PoolStateMachine.makeRunning(connections: 3, shared: 1)
        for _ in 1...2 { #expect(pool.borrow(.exclusive, now: start).request.connection != nil) }
        #expect(pool.borrow(.exclusive, now: start).request.isWait)
        #expect(pool.borrow(.shared, now: start).request.connection != nil)
    }

    @Test func exclusiveBorrower_isServed_whileSharedUnitsKeepArriving() {
        var pool = PoolStateMachine.makeRunning(connections: 2)
        let first = pool.borrow(.shared, now: start).request.connection
        let second = pool.borrow(.shared, now: start).request.connection
        let waiter = pool.borrow(.exclusive, now: start).request.waiter
        // Later units share one connection; the other one is free once its unit is finished.
        let third = pool.borrow(.shared, now: start).request.connection
        let freed = third == first ? second : first
        #expect(pool.release(freed!, .shared, isReusable: true) == [.lend(freed!, waiter, .exclusive)])
    }

    @Test func queue_isLimited_whenAllConnectionsAreLent() {
        var pool = PoolStateMachine.makeRunning(connections: 1, waitersMax: 1)
        _ = pool.borrow(.exclusive, now: start)
        #expect(pool.borrow(.shared, now: start).request.isWait)
        #expect(pool.borrow(.shared, now: start).request == .refuse(.queueFull))
    }

    @Test func waiter_isRefused_whenItsDeadlineHasPassed() {
        var pool = PoolStateMachine.makeRunning(connections: 1)
        _ = pool.borrow(.exclusive, now: start)
        let waiter = pool.borrow(.shared, now: start).request.waiter
        #expect(pool.nextDeadline == start + pool.limits.waitTimeout)
        #expect(pool.expire(now: start) == [])
        #expect(pool.expire(now: start + pool.limits.waitTimeout) == [.refuse(waiter, .timeout)])
    }

    @Test func connectionThatIsNotReusable_isReplaced() {
        var pool = PoolStateMachine.makeRunning(connections: 1)
        let id = pool.connections[0].id
        _ = pool.borrow(.exclusive, now: start)
        let actions = pool.release(id, .exclusive, isReusable: false)
        #expect(actions.first == .close(id))
        #expect(actions.contains { if case .connect(_, .zero) = $0 { true } else { false } })
        #expect(pool.lost(id) == [])
    }

    @Test func attempts_areDelayed_upToTheMaximum_whileTheServerIsUnreachable() {
        var pool = PoolStateMachine(limits: .make(connections: 1))
        var actions = pool.run()
        var delays: [Duration] = []
        for _ in 0..<8 {
            guard case .connect(let id, let delay) = actions.first else { break }
            delays.append(delay)
            actions = pool.connectFailed(id, jitter: 0, now: start)
        }
        #expect(delays == [0, 50, 100, 200, 400, 800, 1_000, 1_000].map { .milliseconds($0) })
        #expect(!pool.isReachable)
    }

    @Test func waits_areShort_whileTheServerIsUnreachable() {
        var pool = PoolStateMachine(limits: .make(connections: 1))
        _ = pool.run()
        let early = pool.borrow(.shared, now: start).request.waiter
        _ = pool.connectFailed(1, jitter: 0, now: start)
        let late = pool.borrow(.shared, now: start).request.waiter
        let refused = pool.expire(now: start + pool.limits.unavailableTimeout)
        #expect(refused == [.refuse(early, .unavailable), .refuse(late, .unavailable)])
    }

    @Test func moreConnections_areOpened_whileCallersWait() {
        var limits = PostgresPoolLimits(connectionsMin: 0, connectionsMax: 2)
        limits.unitsPerConnection = 1
        var pool = PoolStateMachine(limits: limits)
        #expect(pool.run() == [])
        #expect(!pool.borrow(.shared, now: start).actions.isEmpty)
        #expect(pool.connected(2) == [.lend(2, 1, .shared)])
    }

    @Test func shutDown_refusesWaiters_andEndsWithTheLastConnection() {
        var pool = PoolStateMachine.makeRunning(connections: 1)
        let id = pool.connections[0].id
        _ = pool.borrow(.exclusive, now: start)
        let waiter = pool.borrow(.shared, now: start).request.waiter
        #expect(pool.shutDown() == [.refuse(waiter, .closed)])
        #expect(pool.borrow(.shared, now: start).request == .refuse(.closed))
        #expect(pool.release(id, .exclusive, isReusable: true) == [.close(id), .finish])
    }

    @Test func connectionThatOpensAfterTheShutDown_isClosed() {
        var pool = PoolStateMachine(limits: .make(connections: 1))
        _ = pool.run()
        #expect(pool.shutDown() == [])
        #expect(pool.connected(1) == [.close(1), .finish])
    }

    @Test func run_endsAtOnce_whenTheShutDownCameFirst() {
        var pool = PoolStateMachine(limits: .make(connections: 1))
        #expect(pool.shutDown() == [.finish])
        #expect(pool.run() == [.finish])
    }

    @Test func shutDown_ends_whenLoansAreNotReturnedInTime() {
        var pool = PoolStateMachine.makeRunning(connections: 1)
        _ = pool.borrow(.exclusive, now: start)
        let id = pool.connections[0].id
        #expect(pool.shutDown() == [])
        #expect(pool.closeAll() == [.close(id), .finish])
    }
}

extension PostgresPoolLimits {
    static func make(
        connections: Int = 2, unitsPerConnection: Int = 8, waitersMax: Int = 1_024
    ) -> PostgresPoolLimits {
        var limits = PostgresPoolLimits(connectionsMin: connections, connectionsMax: connections)
        limits.unitsPerConnection = unitsPerConnection
        limits.waitersMax = waitersMax
        return limits
    }
}

extension PoolStateMachine {
    static func makeRunning(
        connections: Int, unitsPerConnection: Int = 8, waitersMax: Int = 1_024, shared: Int = 0
    ) -> PoolStateMachine {
        var limits = PostgresPoolLimits.make(
            connections: connections, unitsPerConnection: unitsPerConnection, waitersMax: waitersMax)
        limits.sharedConnectionsMin = shared
        var pool = PoolStateMachine(limits: limits)
        var actions = pool.run()
        while case .connect(let id, _) = actions.first { actions = pool.connected(id) }
        return pool
    }
}

extension PoolStateMachine.Request {
    var connection: PoolStateMachine.ConnectionID? {
        if case .lend(let id) = self { id } else { nil }
    }

    var waiter: PoolStateMachine.WaiterID {
        if case .wait(let id) = self { id } else { -1 }
    }

    var isWait: Bool { waiter >= 0 }
}
