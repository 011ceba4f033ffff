/// The bytes of requests and responses that the connections of one loop hold together. Used on its loop only.
final class MemoryBudget: @unchecked Sendable {
    private let bytesMax: Int
    private var byteCount = 0
    private var stalled: [ObjectIdentifier: HTTPConnection] = [:]

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    /// Whether the budget is used up. Each connection may then hold only `heldBytesFree`.
    var isSpent: Bool { byteCount >= bytesMax }

    /// Changes a connection's charge from `before` bytes to `now` bytes.
    func charge(before: Int, now: Int) {
        let wasSpent = isSpent
        byteCount += now - before
        if wasSpent, !isSpent { wakeStalled() }
    }

    /// Wakes the connection once, when there is room again.
    func wait(_ connection: HTTPConnection) { stalled[ObjectIdentifier(connection)] = connection }

    func stopWaiting(_ connection: HTTPConnection) { stalled[ObjectIdentifier(connection)] = nil }

    private func wakeStalled() {
        let waiting = stalled
        stalled = [:]
        for connection in waiting.values { connection.memoryIsAvailable() }
    }
}
