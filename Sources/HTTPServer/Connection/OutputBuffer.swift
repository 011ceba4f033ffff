/// The unsent bytes of a connection's responses. Positions count from the connection's first byte.
struct OutputBuffer {
    /// Append here; bytes are sent in order.
    var bytes: [UInt8] = []
    private var start = 0
    /// The bytes sent since the connection began.
    private(set) var sentTotal = 0

    /// The number of unsent bytes.
    var count: Int { bytes.count - start }

    var isEmpty: Bool { count == 0 }

    /// The position after the last byte: where a response that was just appended ends.
    var end: Int { sentTotal + count }

    /// Lends the unsent bytes.
    func withUnsentBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Removes the first `count` unsent bytes.
    mutating func remove(_ count: Int) {
        start += count
        sentTotal += count
        // A reader that always lags a little would let a long response pile up in memory. Moving the rest costs no more
        // than sending it.
        if start >= self.count, start < bytes.count {
            bytes.removeFirst(start)
            start = 0
        }
    }

    /// Drops the unsent bytes.
    mutating func discard() { (bytes, start) = ([], 0) }

    /// Takes over spare memory if it has none.
    mutating func adopt(_ spare: inout [UInt8]) {
        if bytes.capacity == 0 { swap(&bytes, &spare) }
    }

    /// Gives up its memory once everything is sent: an idle connection holds none.
    mutating func release() -> [UInt8]? {
        guard isEmpty, bytes.capacity > 0 else { return nil }
        var spent: [UInt8] = []
        swap(&spent, &bytes)
        start = 0
        spent.removeAll(keepingCapacity: true)
        return spent
    }
}
