import Crypto
import Foundation
import PushRegistry

/// A value that can be kept in a file.
protocol SpilledRow: Sendable {
    static var byteCount: Int { get }
    init(_ bytes: ArraySlice<UInt8>)
    func write(to bytes: inout [UInt8])
}

/// Sorts rows of any number in bounded memory: it keeps some in memory, and writes the others to temporary files, each
/// sorted, which it merges.
struct RowSorter<Row: SpilledRow> {
    /// Rows in memory: some 8 MB.
    private static var rowsMax: Int { 150_000 }

    private let precedes: @Sendable (Row, Row) -> Bool
    private var rows: [Row] = []
    private var runs: [FileHandle] = []
    private let rowsMax: Int

    init(rowsMax: Int = rowsMax, by precedes: @escaping @Sendable (Row, Row) -> Bool) {
        self.rowsMax = rowsMax
        self.precedes = precedes
    }

    mutating func add(_ row: Row) throws {
        rows.append(row)
        if rows.count >= rowsMax { try spill() }
    }

    private mutating func spill() throws {
        rows.sort(by: precedes)
        let file = try TemporaryFile.make()
        var bytes: [UInt8] = []
        for row in rows {
            row.write(to: &bytes)
            if bytes.count >= RowRun<Row>.bufferBytes {
                try file.write(contentsOf: bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        try file.write(contentsOf: bytes)
        try file.seek(toOffset: 0)
        rows.removeAll(keepingCapacity: true)
        runs.append(file)
    }

    /// The rows in order. The sorter is empty afterwards.
    mutating func sorted() throws -> SortedRows<Row> {
        rows.sort(by: precedes)
        defer { (rows, runs) = ([], []) }
        return try SortedRows(runs.map { try RowRun($0) }, rows, by: precedes)
    }
}

/// A sorted temporary file.
private struct RowRun<Row: SpilledRow>: Sendable {
    static var bufferBytes: Int { 1_024 * Row.byteCount }

    private let file: FileHandle
    private var buffer: [UInt8] = []
    private var start = 0
    private(set) var first: Row?

    init(_ file: FileHandle) throws {
        self.file = file
        try advance()
    }

    mutating func advance() throws {
        if start == buffer.count {
            buffer = Array(try file.read(upToCount: Self.bufferBytes) ?? Data())
            start = 0
        }
        guard start < buffer.count else {
            first = nil
            return
        }
        first = Row(buffer[start..<(start + Row.byteCount)])
        start += Row.byteCount
    }
}

/// Merges sorted runs. There are few: each but the last has `rowsMax` rows.
struct SortedRows<Row: SpilledRow>: Sendable {
    private var runs: [RowRun<Row>]
    private let rows: [Row]
    private var at = 0
    private let precedes: @Sendable (Row, Row) -> Bool

    fileprivate init(
        _ runs: [RowRun<Row>], _ rows: [Row], by precedes: @escaping @Sendable (Row, Row) -> Bool
    ) throws {
        (self.runs, self.rows, self.precedes) = (runs, rows, precedes)
    }

    mutating func next() throws -> Row? {
        var best = at < rows.count ? rows[at] : nil
        var place: Int?
        for (index, run) in runs.enumerated() {
            guard let first = run.first, best.map({ precedes(first, $0) }) ?? true else { continue }
            (best, place) = (first, index)
        }
        if let place { try runs[place].advance() } else if best != nil { at += 1 }
        return best
    }
}

/// The few bytes of a row that the choice of the newest row of a token needs.
struct ScannedRow: Hashable, SpilledRow {
    /// 128 bits of the SHA-256 of provider and the token's address, or of the `installId`.
    struct Key: Hashable, Comparable {
        let high: UInt64
        let low: UInt64

        init(_ text: Substring, of provider: Provider? = nil) {
            var hash = SHA256()
            if let provider { hash.update(data: Array(provider.rawValue.utf8)) }
            hash.update(data: Array(text.utf8))
            let digest = Array(hash.finalize())
            (high, low) = (UInt64(digest[0..<8]), UInt64(digest[8..<16]))
        }

        fileprivate init(_ bytes: ArraySlice<UInt8>) {
            (high, low) = (UInt64(bytes.prefix(8)), UInt64(bytes.dropFirst(8)))
        }

        static func < (left: Key, right: Key) -> Bool { (left.high, left.low) < (right.high, right.low) }
    }

    static let byteCount = 64

    let token: Key
    /// 64 bits of the SHA-256 of the token's text.
    let spelling: UInt64
    let installation: Key
    /// Microseconds; nil if the row has no date.
    let seenAt: Int64?
    /// The row's number in the run.
    let number: Int64
    /// Where its supplement stands in the file of supplements; nil without one.
    let supplement: Int64?

    init(_ identity: ForeignIdentity, number: Int64, supplement: Int64?, now: Timestamp) {
        token = Key(identity.token.address, of: identity.token.provider)
        spelling = Key(identity.token.text[...]).high
        installation = Key(identity.installID.rawValue[...])
        // A time in the future counts as now.
        seenAt = identity.seenAt.map { min($0, now).microseconds }
        self.number = number
        self.supplement = supplement
    }

    init(_ bytes: ArraySlice<UInt8>) {
        token = Key(bytes.prefix(16))
        installation = Key(bytes.dropFirst(16).prefix(16))
        spelling = UInt64(bytes.dropFirst(32).prefix(8))
        seenAt = Int64(spilled: bytes.dropFirst(40).prefix(8))
        number = Int64(spilled: bytes.dropFirst(48).prefix(8)) ?? 0
        supplement = Int64(spilled: bytes.dropFirst(56).prefix(8))
    }

    func write(to bytes: inout [UInt8]) {
        for part in [token.high, token.low, installation.high, installation.low, spelling] { part.write(to: &bytes) }
        for part in [seenAt, number, supplement] { Int64.spill(part, to: &bytes) }
    }

    /// Whether this row is newer than another one of the same token or installation. A row without a date counts as of
    /// the time `undated`. Of two rows with the same date the digests decide, so that the order of the files does not
    /// matter. Without a date, or with equal digests, the later row wins.
    func isNewer(than other: ScannedRow, undated: Int64) -> Bool {
        let (left, right) = (seenAt ?? undated, other.seenAt ?? undated)
        if left != right { return left > right }
        guard seenAt != nil, other.seenAt != nil else { return number > other.number }
        if installation != other.installation { return installation > other.installation }
        if token != other.token { return token > other.token }
        if spelling != other.spelling { return spelling > other.spelling }
        return number > other.number
    }
}

extension Int64 {
    /// Nil is written as the least number.
    init?(spilled bytes: ArraySlice<UInt8>) {
        let number = Int64(bitPattern: UInt64(bytes))
        guard number != .min else { return nil }
        self = number
    }

    static func spill(_ number: Int64?, to bytes: inout [UInt8]) {
        UInt64(bitPattern: number ?? .min).write(to: &bytes)
    }
}

extension UInt64 {
    init(_ bytes: ArraySlice<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    func write(to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: self >> shift)) }
    }
}
