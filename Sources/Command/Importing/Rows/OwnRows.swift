import PushRegistry

/// The rows of a file of our own format.
struct OwnRows {
    private var names: ImportNames
    /// Names that are none of ours; nil if the file has no rows.
    private(set) var unknownNames: [String]?
    /// Whether the file was cut off.
    private(set) var endsEarly = false

    init(_ names: ImportNames) {
        self.names = names
    }

    /// - Parameter take: gets each row with the number of its line, and returns false to stop.
    /// - Throws: what `take` throws, `ImportFailure`, and the errors of reading the file.
    mutating func read(
        _ bytes: PeekableBytes, _ take: (Int, Result<ImportRecord, ImportFaults>) throws -> Bool
    ) throws {
        var elements = ElementSplitter(wrappers: ImportSource.ownWrappers)
        switch InputShape(bytes.peek(InputShape.peekBytes), elements) {
        case nil: _ = try bytes.read()
        case .xml: return
        case .table: try readTable(bytes, take)
        case .lines: try readObjects(bytes, isPart: elements.isIncomplete, ImportLine.cut, take)
        case .elements:
            let cut = { (bytes: ArraySlice<UInt8>, isEnd: Bool) throws(ImportFaults) in
                try elements.cut(bytes, isEnd: isEnd)
            }
            try readObjects(bytes, cut, take)
            endsEarly = endsEarly || !elements.isComplete
        }
    }

    private mutating func readObjects(
        _ bytes: PeekableBytes, isPart: (ArraySlice<UInt8>) -> Bool = { _ in false },
        _ cut: (ArraySlice<UInt8>, Bool) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>?,
        _ take: (Int, Result<ImportRecord, ImportFaults>) throws -> Bool
    ) throws {
        var cutter = RecordCutter(bytes)
        while let (line, content) = try cutter.next(cut) {
            if case .success(let bytes) = content, cutter.isInOpenLine, isPart(bytes) {
                endsEarly = true
                break
            }
            let record = Result { () throws(ImportFaults) in try ImportLine.record(content.get(), &names) }
            guard try take(line, record) else { break }
        }
        unknownNames = names.unknown
        endsEarly = endsEarly || cutter.endsEarly
    }

    private mutating func readTable(
        _ bytes: PeekableBytes, _ take: (Int, Result<ImportRecord, ImportFaults>) throws -> Bool
    ) throws {
        var cutter = RecordCutter(bytes)
        guard let (_, header) = try cutter.next(CSVRecord.cut) else { return }
        let columns = try CSVColumns(header, names)
        unknownNames = columns.names.unknown
        while let (line, fields) = try cutter.next(CSVRecord.cut) {
            let record = Result { () throws(ImportFaults) in try columns.record(fields.get()) }
            guard try take(line, record) else { break }
        }
        endsEarly = cutter.endsEarly
    }
}

extension CSVColumns {
    /// - Throws: `ImportFailure` for a header that cannot be read, or without the required columns.
    fileprivate init(_ header: Result<[String?], ImportFaults>, _ names: ImportNames) throws {
        do { self = try CSVColumns(header: header.get(), names) } catch let faults as ImportFaults {
            throw ImportFailure("The header cannot be read: \(faults.faults[0].reason.detail)")
        }
    }
}
