import PushRegistry
import StrictJSON

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

/// Parses a line of NDJSON.
enum ImportLine {
    /// The first line of the bytes; nil if it is incomplete.
    static func cut(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
        guard end != nil || isEnd else { return nil }
        let line = bytes[..<(end ?? bytes.endIndex)]
        let isBlank = line.allSatisfy {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
        }
        return RecordCutter.Cut(
            content: isBlank ? nil : line, byteCount: line.count + (end == nil ? 0 : 1), lineCount: 1)
    }

    static func record(_ line: ArraySlice<UInt8>, _ names: inout ImportNames) throws(ImportFaults) -> ImportRecord {
        do throws(JSONFaults) {
            let document = try JSONDocument(Array(line))
            var record = ImportRecord()
            names.beginLine()
            document.root.object()?.forEachMember { member in
                let field = names.field(member)
                guard member.value.kind != .null else { return }
                if let field {
                    record[field] = member.value.text(of: field)
                } else if member.name == "keys" {
                    record.readKeys(member.value)
                } else {
                    names.noteUnknown(member.name)
                }
            }
            try document.check()
            return record
        } catch {
            throw ImportFaults(error)
        }
    }
}

extension ImportFaults {
    init(_ faults: JSONFaults) {
        // The names of members are data: one may be a token.
        self.init(
            faults.faults.map { ImportFault(NotUnderstood.printable(String($0.pointer.dropFirst())) ?? "", $0.reason) })
    }
}

extension JSONFault {
    fileprivate var reason: InvalidValue { InvalidValue(code: code.rawValue, detail: detail) }
}

extension ImportRecord {
    fileprivate mutating func readKeys(_ value: JSONValue) {
        guard let keys = value.object() else { return }
        self[.p256dh] = keys.string("p256dh", scalarsMax: Device.textScalarsMax)
        self[.auth] = keys.string("auth", scalarsMax: Device.textScalarsMax)
    }
}

extension JSONValue {
    /// A text, a number or a flag as a text, whatever the field: `ImportReader` knows what the field can be. Nil after
    /// a fault.
    fileprivate func text(of field: ImportField) -> String? {
        switch (kind, field.kind) {
        case (.number, _), (.boolean, _), (.array, .texts): String(decoding: rawBytes, as: UTF8.self)
        case (.object, .location): locationText()
        default: string(scalarsMax: .max)
        }
    }

    private func locationText() -> String? {
        guard let location = object() else { return nil }
        let numbers = ["latitude", "longitude"].compactMap { name -> String? in
            let number = location.value(named: Array(name.utf8))
            return number?.kind == .null ? nil : number?.text(of: .token)
        }
        return numbers.joined(separator: " ")
    }
}
