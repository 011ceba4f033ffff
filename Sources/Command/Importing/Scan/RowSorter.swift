import Foundation

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
