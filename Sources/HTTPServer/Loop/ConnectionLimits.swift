import Foundation

/// The number of open connections, over all loops, and its limits.
///
/// `NSLock` rather than `Synchronization.Mutex`: Thread Sanitizer knows a pthread mutex.
final class ConnectionLimits: @unchecked Sendable {
    private let totalMax: Int
    private let perNetworkMax: Int?
    private let lock = NSLock()
    private var total = 0
    private var perNetwork: [IPAddress: Int] = [:]

    init(_ configuration: HTTPServerConfiguration) {
        totalMax = configuration.connectionsMax
        perNetworkMax = configuration.connectionsPerAddressMax
    }

    var count: Int { lock.withLock { total } }

    /// Whether another connection may be accepted.
    var hasRoom: Bool { lock.withLock { total < totalMax } }

    /// Counts a new connection; false if its network has reached the limit.
    func add(_ address: IPAddress) -> Bool {
        lock.withLock {
            if let perNetworkMax {
                let count = perNetwork[address.network, default: 0]
                guard count < perNetworkMax else { return false }
                perNetwork[address.network] = count + 1
            }
            total += 1
            return true
        }
    }

    func remove(_ address: IPAddress) {
        lock.withLock {
            total -= 1
            guard perNetworkMax != nil, let count = perNetwork[address.network] else { return }
            perNetwork[address.network] = count > 1 ? count - 1 : nil
        }
    }
}
