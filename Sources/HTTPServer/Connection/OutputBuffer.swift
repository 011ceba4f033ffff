/// Bytes of responses on their way to the socket, counted from the connection's first.
struct OutputBuffer {
    /// What is appended to it leaves after all that is in it.
    var bytes: [UInt8] = []
    private var start = 0
    /// All bytes that ever left.
    private(set) var sentTotal = 0

    /// The bytes that wait.
    var count: Int { bytes.count - start }

    var isEmpty: Bool { count == 0 }

    /// The bytes that ever left, and those that wait: where a response that was just appended ends.
    var end: Int { sentTotal + count }

    /// Lends the bytes that wait.
    func withUnsentBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Forgets the first `count` bytes that wait.
    mutating func remove(_ count: Int) {
        start += count
        sentTotal += count
        // A reader who always lags a little would have the whole of a long response pile up. Moving the rest costs no
        // more than sending did.
        if start >= self.count, start < bytes.count {
            bytes.removeFirst(start)
            start = 0
        }
    }

    /// Drops what waits.
    mutating func discard() { (bytes, start) = ([], 0) }

    /// Takes over spare memory, if it has none.
    mutating func adopt(_ spare: inout [UInt8]) {
        if bytes.capacity == 0 { swap(&bytes, &spare) }
    }

    /// Gives up its memory once all has left: an idle connection holds none.
    mutating func release() -> [UInt8]? {
        guard isEmpty, bytes.capacity > 0 else { return nil }
        var spent: [UInt8] = []
        swap(&spent, &bytes)
        start = 0
        spent.removeAll(keepingCapacity: true)
        return spent
    }
}
