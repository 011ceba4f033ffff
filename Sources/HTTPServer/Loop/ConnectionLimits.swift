import Locking

/// The number of open connections, over all loops, and its limits.
final class ConnectionLimits: Sendable {
    private struct Counts {
        var total = 0
        var perNetwork: [IPAddress: Int] = [:]
    }

    private let totalMax: Int
    private let perNetworkMax: Int?
    private let counts = Locked(Counts())

    init(_ configuration: HTTPServerConfiguration) {
        totalMax = configuration.connectionsMax
        perNetworkMax = configuration.connectionsPerAddressMax
    }

    var count: Int { counts.withLock { $0.total } }

    /// Whether another connection may be accepted.
    var hasRoom: Bool { counts.withLock { $0.total < totalMax } }

    /// Counts a new connection; false if its network has reached the limit.
    func add(_ address: IPAddress) -> Bool {
        counts.withLock { counts in
            if let perNetworkMax {
                let count = counts.perNetwork[address.network, default: 0]
                guard count < perNetworkMax else { return false }
                counts.perNetwork[address.network] = count + 1
            }
            counts.total += 1
            return true
        }
    }

    func remove(_ address: IPAddress) {
        counts.withLock { counts in
            counts.total -= 1
            guard perNetworkMax != nil, let count = counts.perNetwork[address.network] else { return }
            counts.perNetwork[address.network] = count > 1 ? count - 1 : nil
        }
    }
}
