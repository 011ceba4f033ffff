import Basics
import Foundation

/// What an older row adds to a newer one of the same token.
struct RowSupplement: Hashable, Sendable {
    /// The vendor's id of the installation; nil if the row does not name one.
    var installation: String?
    var user: String?
    var tags: [ForeignTag] = []

    /// Whether both rows are of the same installation, as far as they say it.
    func isOfSameInstallation(as other: RowSupplement) -> Bool {
        guard let id = installation?.lowercased(), let otherID = other.installation?.lowercased() else { return true }
        return id == otherID
    }

    /// - Parameter older: other rows of the token, the newest first.
    func completed(by older: [RowSupplement]) -> RowSupplement {
        var whole = self
        var names = Set(tags.map { $0.name.lowercased() })
        for row in older where isOfSameInstallation(as: row) {
            whole.user = whole.user ?? row.user
            whole.tags += row.tags.filter { names.insert($0.name.lowercased()).inserted }
        }
        return whole
    }
}

/// Supplements of any number, in a temporary file.
final class SupplementFile: Sendable {
    private static let bufferBytes = 256 * 1_024

    private struct State {
        var file: FileHandle?
        /// Not yet in the file.
        var buffer: [UInt8] = []
        var writtenBytes: Int64 = 0
    }

    private let state = Locked(State())

    /// - Returns: where it stands.
    func add(_ supplement: RowSupplement) throws -> Int64 {
        try state.withLock { state in
            let place = state.writtenBytes + Int64(state.buffer.count)
            supplement.write(to: &state.buffer)
            if state.buffer.count >= Self.bufferBytes { try Self.flush(&state) }
            return place
        }
    }

    /// - Parameter place: as `add` has returned it.
    func supplement(at place: Int64) throws -> RowSupplement {
        try state.withLock { state in
            try Self.flush(&state)
            guard let file = state.file else { return RowSupplement() }
            try file.seek(toOffset: UInt64(place))
            let count = Int(try file.read(upToCount: RowSupplement.countBytes) ?? Data())
            return RowSupplement(try file.read(upToCount: count) ?? Data())
        }
    }

    private static func flush(_ state: inout State) throws {
        guard !state.buffer.isEmpty else { return }
        let file = try state.file ?? TemporaryFile.make()
        state.file = file
        try file.seekToEnd()
        try file.write(contentsOf: state.buffer)
        state.writtenBytes += Int64(state.buffer.count)
        state.buffer.removeAll(keepingCapacity: true)
    }
}

/// As bytes: their number, then each text with its number of bytes before it. A tag has `+` before its name, or `-` for
/// a topic that was left.
extension RowSupplement {
    fileprivate static let countBytes = 4

    fileprivate func write(to bytes: inout [UInt8]) {
        var fields: [UInt8] = []
        for text in [installation ?? "", user ?? ""] + tags.map({ ($0.isChosen ? "+" : "-") + $0.name }) {
            Self.write(text.utf8.count, to: &fields)
            fields += text.utf8
        }
        Self.write(fields.count, to: &bytes)
        bytes += fields
    }

    fileprivate init(_ bytes: Data) {
        var (rest, texts) = (bytes, [String]())
        while rest.count >= Self.countBytes {
            let count = Int(rest.prefix(Self.countBytes))
            texts.append(String(decoding: rest.dropFirst(Self.countBytes).prefix(count), as: UTF8.self))
            rest = rest.dropFirst(Self.countBytes + count)
        }
        installation = texts.first.flatMap { $0.isEmpty ? nil : $0 }
        user = texts.dropFirst().first.flatMap { $0.isEmpty ? nil : $0 }
        tags = texts.dropFirst(2).map { ForeignTag(name: String($0.dropFirst()), isChosen: $0.first == "+") }
    }

    private static func write(_ count: Int, to bytes: inout [UInt8]) {
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    }
}

extension Int {
    /// The bytes of a number, the most significant first.
    fileprivate init(_ bytes: Data) {
        self = bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}

/// One row that completes a newer one.
struct Completion: SpilledRow {
    static let byteCount = 16

    /// The newer row's number in the run.
    let newest: Int64
    /// Where the supplement stands.
    let supplement: Int64

    init(newest: Int64, supplement: Int64) {
        (self.newest, self.supplement) = (newest, supplement)
    }

    init(_ bytes: ArraySlice<UInt8>) {
        newest = Int64(spilled: bytes.prefix(8)) ?? 0
        supplement = Int64(spilled: bytes.dropFirst(8).prefix(8)) ?? 0
    }

    func write(to bytes: inout [UInt8]) {
        for part in [newest, supplement] { Int64.spill(part, to: &bytes) }
    }
}

/// The completions of a run, in the order of the newer rows.
struct Completions: Sendable {
    private var rows: SortedRows<Completion>
    private var next: Completion?
    private let file: SupplementFile

    init(_ rows: SortedRows<Completion>, in file: SupplementFile) throws {
        (self.rows, self.file) = (rows, file)
        next = try self.rows.next()
    }

    /// The supplements for a row, the newest first. Called for rows in the order of the run.
    mutating func supplements(for number: Int64) throws -> [RowSupplement] {
        var found: [RowSupplement] = []
        while let completion = next, completion.newest <= number {
            if completion.newest == number { found.append(try file.supplement(at: completion.supplement)) }
            next = try rows.next()
        }
        return found
    }
}
