import Glibc

/// Random numbers of the system, fetched many at a time: a system call per request id would cost too much. A copy would
/// return the same numbers once more, so there is none.
struct BufferedRandom: ~Copyable {
    /// getentropy(3) returns at most 256 bytes.
    private static let wordsMax = 32

    private var words: [UInt64] = []

    mutating func next() -> UInt64 {
        if words.isEmpty { refill() }
        return words.removeLast()
    }

    private mutating func refill() {
        words.append(contentsOf: repeatElement(0, count: Self.wordsMax))
        let result = words.withUnsafeMutableBytes { getentropy($0.baseAddress!, $0.count) }
        precondition(result == 0, "getentropy failed")
    }
}
