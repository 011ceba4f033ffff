import Basics
import PushRegistry

/// Whether two tokens of files have one Firebase installation id. Looks at the bytes alone, whatever the format: it may
/// see ids where none are, and overlooks none. So rows are compared only if that can matter.
struct RepeatedAddresses {
    /// The digest of what may be an id. Equal for equal ids, in one process.
    private struct Digest: SpilledRow {
        static let byteCount = 8
        let value: UInt64

        init(_ id: some Sequence<UInt8>) {
            var hasher = Hasher()
            for byte in id { hasher.combine(byte) }
            value = UInt64(truncatingIfNeeded: hasher.finalize())
        }

        init(_ bytes: ArraySlice<UInt8>) { value = UInt64(bytes) }
        func write(to bytes: inout [UInt8]) { value.write(to: &bytes) }
    }

    private static let isDigit = (0...UInt8.max).map(Base64URL.isDigit)
    private static let (escape, lineEnd) = (UInt8(ascii: "\\"), UInt8(ascii: "\n"))

    private var digests = RowSorter<Digest> { $0.value < $1.value }
    /// The digits at the end of the piece before, and the byte before them.
    private var run: [UInt8] = []
    private var before: UInt8 = 0
    /// JSON can hide digits: `\u0063`.
    private(set) var hasEscapes = false
    /// The line ends so far.
    private(set) var lines: Int64 = 0

    mutating func add(_ piece: [UInt8]) throws {
        let isDigit = Self.isDigit
        var start = 0
        for (index, byte) in piece.enumerated() where !isDigit[Int(byte)] {
            let length = run.count + index - start
            if length > 0 {
                if length == Token.installationIDDigits || before == Self.escape {
                    try end(run + piece[start..<index])
                }
                run.removeAll(keepingCapacity: true)
            }
            if byte == Self.lineEnd { lines += 1 }
            before = byte
            start = index + 1
        }
        // A longer run is no id, but is not cut into one either.
        run += piece[start...].prefix(Token.installationIDDigits + 1)
    }

    /// Ends a file.
    mutating func endPart() throws {
        try end(run)
        run = []
        before = 0
    }

    private mutating func end(_ run: [UInt8]) throws {
        if before == Self.escape, run.first == UInt8(ascii: "u") { hasEscapes = true }
        if Token.isInstallationID(run) { try digests.add(Digest(run)) }
    }

    /// Whether an id may have occurred twice.
    mutating func found() throws -> Bool {
        guard !hasEscapes else { return true }
        var (sorted, last) = (try digests.sorted(), UInt64?.none)
        while let digest = try sorted.next() {
            if digest.value == last { return true }
            last = digest.value
        }
        return false
    }
}
