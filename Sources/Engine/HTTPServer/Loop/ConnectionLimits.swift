import Basics

/// The number of open connections, over all loops and on each, and its limits.
final class ConnectionLimits: Sendable {
    private struct Counts {
        var total = 0
        var perLoop: [Int]
        /// The loops that take connections from others.
        var serving: Set<Int> = []
        var perNetwork: [IPAddress: Int] = [:]
    }

    private let totalMax: Int
    private let perNetworkMax: Int?
    private let counts: Locked<Counts>

    init(_ configuration: HTTPServerConfiguration, loopCount: Int) {
        totalMax = configuration.connectionsMax
        perNetworkMax = configuration.connectionsPerAddressMax
        counts = Locked(Counts(perLoop: Array(repeating: 0, count: loopCount)))
    }

    var count: Int { counts.withLock { $0.total } }
    var countsOfLoops: [Int] { counts.withLock { $0.perLoop } }

    /// Whether another connection may be accepted.
    var hasRoom: Bool { counts.withLock { $0.total < totalMax } }

    /// A loop takes connections from others, until it drains.
    func begin(_ loop: Int) { counts.withLock { _ = $0.serving.insert(loop) } }
    func drain(_ loop: Int) { counts.withLock { _ = $0.serving.remove(loop) } }

    /// Counts a new connection that a loop has accepted. The kernel spreads connections by a hash, so a loop may get
    /// twice the mean.
    ///
    /// - Returns: the loop that is to serve it: another one if that has at least two connections less. Nil if its
    ///   network has reached the limit.
    func add(_ address: IPAddress, acceptedBy loop: Int) -> Int? {
        counts.withLock { counts in
            if let perNetworkMax {
                let count = counts.perNetwork[address.network, default: 0]
                guard count < perNetworkMax else { return nil }
                counts.perNetwork[address.network] = count + 1
            }
            let least = counts.serving.min { counts.perLoop[$0] < counts.perLoop[$1] } ?? loop
            let server = counts.perLoop[loop] > counts.perLoop[least] + 1 ? least : loop
            counts.total += 1
            counts.perLoop[server] += 1
            return server
        }
    }

    /// The loop that should have served the connection cannot.
    func move(from loop: Int, to other: Int) {
        counts.withLock { counts in
            counts.perLoop[loop] -= 1
            counts.perLoop[other] += 1
        }
    }

    func remove(_ address: IPAddress, from loop: Int) {
        counts.withLock { counts in
            counts.total -= 1
            counts.perLoop[loop] -= 1
            guard perNetworkMax != nil, let count = counts.perNetwork[address.network] else { return }
            counts.perNetwork[address.network] = count > 1 ? count - 1 : nil
        }
    }
}
