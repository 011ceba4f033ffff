/// Returns a pool's requests in an order. The next round continues where the last one ended, so that an installation
/// with changed settings does not get the same settings again. Used by one load at a time, on its loop.
final class RequestSequence: @unchecked Sendable {
    let pool: RequestPool
    private let order: RequestOrder
    private var state: UInt64 = 0x2545_F491_4F6C_DD1D
    private var position = 0
    private var lastOfTwo: [UInt8]

    init(_ pool: RequestPool, _ order: RequestOrder) {
        self.pool = pool
        self.order = order
        lastOfTwo = order == .alternating ? [UInt8](repeating: 1, count: pool.count / 2) : []
    }

    /// Nil when every request of an order `once` was sent.
    func next() -> Range<Int>? {
        switch order {
        case .random: return pool.range(below(pool.count))
        case .once:
            guard position < pool.count else { return nil }
            defer { position += 1 }
            return pool.range(position)
        case .alternating:
            let installation = below(pool.count / 2)
            lastOfTwo[installation] ^= 1
            return pool.range(2 * installation + Int(lastOfTwo[installation]))
        }
    }

    /// Xorshift64*.
    private func below(_ bound: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 0x2545_F491_4F6C_DD1D).multipliedFullWidth(by: UInt64(bound)).high)
    }
}
