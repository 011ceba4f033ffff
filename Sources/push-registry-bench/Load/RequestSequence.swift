/// Hands out a pool's requests in an order, and goes on in the next round where the last one ended: an installation
/// whose settings were changed is not sent the same ones again. One load at a time uses it, on its loop.
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

    /// Nil when each has been sent that was to be sent once.
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
