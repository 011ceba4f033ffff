import Foundation
import Glibc
import PushRegistry
import Synchronization

enum ImportFormat: String, CaseIterable, Sendable {
    case ndjson, csv
}

/// Reads a file of installations on a thread of its own, and reports what it has to reject.
final class ImportInput: Sendable {
    struct Counts: Sendable {
        var read = 0
        var rejected = 0
        var unknownNames: [String] = []
    }

    /// What is handed on at a time.
    private static let pieceCount = 500
    /// So many pieces are one transaction's: while it is written, the next one's are read.
    private static let piecesMax = 40

    /// The installations that were read, for the tasks that load them.
    let pieces = ImportQueue<[ImportedInstallation]>(elementsMax: piecesMax)
    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    /// Begins to read.
    func start(_ file: FileHandle, _ format: ImportFormat, _ names: ImportNames, _ rejects: RejectedLines) throws {
        let reader = ImportReader(links: try TimeZoneLinks())
        let thread = Thread { [self] in
            pieces.finish(
                Result {
                    switch format {
                    case .ndjson: try readLines(file, names, reader, rejects)
                    case .csv: try readTable(file, names, reader, rejects)
                    }
                    try rejects.close()
                })
        }
        thread.name = "import-reader"
        thread.start()
    }

    private func readLines(
        _ file: FileHandle, _ names: ImportNames, _ reader: ImportReader, _ rejects: RejectedLines
    ) throws {
        var (records, names) = (ImportRecords(file), names)
        try forward(reader, rejects) { () in
            let next = try records.next { bytes, isEnd throws(ImportFaults) in try JSONLine.cut(bytes, isEnd: isEnd) }
            guard let (line, content) = next else { return nil }
            defer { state.withLock { $0.unknownNames = names.unknown } }
            return (
                line, Result { () throws(ImportFaults) in try JSONLine.record(content.get(), &names) }
            )
        }
    }

    private func readTable(
        _ file: FileHandle, _ names: ImportNames, _ reader: ImportReader, _ rejects: RejectedLines
    ) throws {
        var records = ImportRecords(file)
        guard let header = try Self.nextRow(&records) else { return }
        let columns: CSVColumns
        do { columns = try CSVColumns(header: header.record.get(), names) } catch let faults as ImportFaults {
            throw ImportFailure("The header cannot be read: \(faults.faults[0].reason.detail)")
        }
        state.withLock { $0.unknownNames = columns.names.unknown }
        try forward(reader, rejects) { () in
            guard let (line, row) = try Self.nextRow(&records) else { return nil }
            return (line, Result { () throws(ImportFaults) in try columns.record(row.get()) })
        }
    }

    private static func nextRow(
        _ records: inout ImportRecords
    ) throws -> (line: Int, record: Result<[String?], ImportFaults>)? {
        try records.next { bytes, isEnd throws(ImportFaults) in
            guard let row = try CSVRecord(bytes, isEnd: isEnd) else { return nil }
            return ImportRecords.Cut(
                content: row.isBlank ? nil : row.fields, byteCount: row.byteCount, lineCount: row.lineCount)
        }
    }

    /// Hands on what is good, until nothing is left or nobody takes any more.
    private func forward(
        _ reader: ImportReader, _ rejects: RejectedLines,
        _ next: () throws -> (line: Int, record: Result<ImportRecord, ImportFaults>)?
    ) throws {
        var reader = reader
        var piece: [ImportedInstallation] = []
        var (read, rejected) = (0, 0)
        while let (line, record) = try next() {
            read += 1
            do throws(ImportFaults) {
                piece.append(try reader.installation(try record.get()))
            } catch {
                rejected += 1
                try rejects.add(line, error)
            }
            if read % Self.pieceCount == 0 {
                count(read, rejected)
                guard pieces.put(piece) else { return }
                piece = []
            }
        }
        count(read, rejected)
        _ = pieces.put(piece)
    }

    private func count(_ read: Int, _ rejected: Int) {
        state.withLock { counts in
            counts.read = read
            counts.rejected = rejected
        }
    }
}

/// The file of lines that were not taken: one JSON object for each fault, and none of what a line says.
final class RejectedLines: @unchecked Sendable {
    private struct Fault: Encodable {
        let line: Int
        let field: String?
        let code: String
        let reason: String
    }

    private static let bufferBytesMax = 64 * 1_024

    let path: String
    private var handle: FileHandle?
    private var buffer = Data()
    private let encoder = JSONEncoder()

    /// Empties a file that an earlier import left, or keeps it until there is something to write. A new one is created
    /// then, too.
    ///
    /// Used by one thread at a time.
    ///
    /// - Parameters:
    ///   - input: the file that is imported. It is never written, whatever its names are.
    ///   - keepsOlder: whether an earlier import's file stays if no line is rejected.
    init(path: String, readingFrom input: FileHandle, keepsOlder: Bool) throws {
        self.path = path
        guard !Self.isSame(path, input) else {
            throw ImportFailure("\(path) is the file that is imported: name another one with --rejects.")
        }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return }
        guard !isDirectory.boolValue else { throw ImportFailure("\(path) is a folder: name a file with --rejects.") }
        if !keepsOlder { try open() }
    }

    /// Whether the path leads to the open file, by another name, a link or a redirection too.
    private static func isSame(_ path: String, _ input: FileHandle) -> Bool {
        var (named, opened) = (stat(), stat())
        guard stat(path, &named) == 0, fstat(input.fileDescriptor, &opened) == 0 else { return false }
        return named.st_dev == opened.st_dev && named.st_ino == opened.st_ino
    }

    func add(_ line: Int, _ faults: ImportFaults) throws {
        for fault in faults.faults {
            let field = fault.field.isEmpty ? nil : fault.field
            buffer += try encoder.encode(
                Fault(line: line, field: field, code: fault.reason.code, reason: fault.reason.detail))
            buffer.append(UInt8(ascii: "\n"))
        }
        if buffer.count >= Self.bufferBytesMax { try flush() }
    }

    func close() throws {
        try flush()
        try handle?.close()
        handle = nil
    }

    private func flush() throws {
        guard !buffer.isEmpty else { return }
        if handle == nil { try open() }
        try handle?.write(contentsOf: buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private func open() throws {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw ImportFailure(
                "\(path) cannot be written (\(String(cString: strerror(errno)))): name another file with --rejects.")
        }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

/// Why an import could not begin or go on.
struct ImportFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
