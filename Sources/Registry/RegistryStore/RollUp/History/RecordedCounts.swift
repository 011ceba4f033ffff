import PushRegistry

/// The counts of one layer on one day, as `rollup_history.counts` has them: for each cell, in the order of numbers, how
/// much larger its number is than the one before, then the installations that are reachable, that are active besides,
/// and the rest. Each is a varint of seven bits a byte, the lowest first; counts are in zigzag, so that a negative one
/// is short too. A cell takes some five bytes.
struct RecordedCounts: Sendable {
    private(set) var bytes: [UInt8] = []
    private var last: Int64 = 0

    init() {}

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Parameter number: of a cell, larger than all before.
    mutating func append(_ number: Int64, _ counts: AppCube.Counts) {
        append(UInt64(number - last))
        last = number
        for count in [counts.reachable, counts.active - counts.reachable, counts.installations - counts.active] {
            append(UInt64(bitPattern: count << 1 ^ count >> 63))
        }
    }

    private mutating func append(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// - Throws: `StoreError` for bytes that are no counts, and what `body` throws.
    func read(_ body: (_ number: Int64, AppCube.Counts) throws -> Void) throws {
        try bytes.withUnsafeBufferPointer { bytes in
            var (position, number) = (0, Int64(0))
            func next() throws -> UInt64 {
                // Most values are small.
                if position < bytes.count, bytes[position] < 0x80 {
                    position += 1
                    return UInt64(bytes[position - 1])
                }
                var (value, shift) = (UInt64(0), UInt64(0))
                while position < bytes.count, shift < 64 {
                    let byte = bytes[position]
                    position += 1
                    value |= UInt64(byte & 0x7F) << shift
                    if byte < 0x80 { return value }
                    shift += 7
                }
                throw StoreError.failed("a record of counts is damaged")
            }
            func nextCount() throws -> Int64 {
                let value = try next()
                return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
            }
            while position < bytes.count {
                number &+= Int64(bitPattern: try next())
                let reachable = try nextCount()
                let active = reachable &+ (try nextCount())
                let all = active &+ (try nextCount())
                try body(number, AppCube.Counts(reachable: reachable, active: active, installations: all))
            }
        }
    }
}
