import Foundation
import PushRegistry
import Synchronization

enum ImportFormat: String, CaseIterable, Sendable {
    case ndjson, csv
}

/// Reads the installations of a file on its own thread, and reports rejected lines.
final class ImportInput: Sendable {
    struct Counts: Sendable {
        var read = 0
        var rejected = 0
        var unknownNames: [String] = []
    }

    /// Lines of a chunk.
    private static let chunkCount = 500
    /// One transaction writes this many chunks. Meanwhile the thread reads those of the next transaction.
    private static let chunksMax = 40

    /// The parsed installations.
    let chunks = ImportQueue<[ImportedInstallation]>(elementsMax: chunksMax)
    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    /// Starts the thread.
    func start(_ file: FileHandle, _ format: ImportFormat, _ names: ImportNames, _ rejects: RejectedLines) throws {
        let reader = ImportReader(links: try TimeZoneLinks())
        let thread = Thread { [self] in
            chunks.finish(
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

    /// Puts valid installations into the queue until the file ends or the queue is finished.
    private func forward(
        _ reader: ImportReader, _ rejects: RejectedLines,
        _ next: () throws -> (line: Int, record: Result<ImportRecord, ImportFaults>)?
    ) throws {
        var reader = reader
        var chunk: [ImportedInstallation] = []
        var (read, rejected) = (0, 0)
        while let (line, record) = try next() {
            read += 1
            do throws(ImportFaults) {
                chunk.append(try reader.installation(try record.get()))
            } catch {
                rejected += 1
                try rejects.add(line, error)
            }
            if read % Self.chunkCount == 0 {
                count(read, rejected)
                guard chunks.put(chunk) else { return }
                chunk = []
            }
        }
        count(read, rejected)
        _ = chunks.put(chunk)
    }

    private func count(_ read: Int, _ rejected: Int) {
        state.withLock { counts in
            counts.read = read
            counts.rejected = rejected
        }
    }
}

/// Why an import failed.
struct ImportFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
