import Foundation

/// How many connections there are, on all loops together.
///
/// `NSLock` rather than `Synchronization.Mutex`: Thread Sanitizer knows a pthread mutex.
final class ConnectionLimits: @unchecked Sendable {
    private let totalMax: Int
    private let perAddressMax: Int?
    private let lock = NSLock()
    private var total = 0
    private var perAddress: [IPAddress: Int] = [:]

    init(_ configuration: HTTPServerConfiguration) {
        totalMax = configuration.connectionsMax
        perAddressMax = configuration.connectionsPerAddressMax
    }

    var count: Int { lock.withLock { total } }

    /// Whether another connection may be accepted.
    var hasRoom: Bool { lock.withLock { total < totalMax } }

    /// Counts a connection in.
    ///
    /// - Returns: whether its address may have it.
    func add(_ address: IPAddress) -> Bool {
        lock.withLock {
            total += 1
            guard let perAddressMax else { return true }
            perAddress[address, default: 0] += 1
            return perAddress[address, default: 0] <= perAddressMax
        }
    }

    func remove(_ address: IPAddress) {
        lock.withLock {
            total -= 1
            guard perAddressMax != nil, let count = perAddress[address] else { return }
            perAddress[address] = count > 1 ? count - 1 : nil
        }
    }
}
