import PushRegistry
import StrictJSON

/// The rows of one file of another system, in any shape.
struct ForeignRows {
    /// The longest row: users and installations of other systems carry attributes that are not imported.
    private static let rowBytesMax = 1_024 * 1_024
    private static let valueDepthMax = 64

    private var cutter: RecordCutter
    private let shape: InputShape
    private var elements: ElementSplitter
    private var feed: XMLFeed?
    private var header: CSVHeader?
    private var isCutOff = false

    /// Nil for a file that is empty.
    ///
    /// - Throws: the error of reading a file of which nothing can be read.
    init?(_ bytes: PeekableBytes, _ elements: ElementSplitter) throws {
        guard let shape = InputShape(bytes.peek(InputShape.peekBytes), elements) else {
            _ = try bytes.read()
            return nil
        }
        (self.shape, self.elements) = (shape, elements)
        if shape == .xml { feed = XMLFeed(bytes.peek(InputShape.peekBytes)) }
        cutter = RecordCutter(bytes, recordBytesMax: Self.rowBytesMax)
    }

    /// Of the header, once a row was read.
    var columnNames: [String] { header?.names ?? [] }

    /// Whether the file was cut off; known at its end.
    var endsEarly: Bool { cutter.endsEarly || isCutOff || !elements.isComplete || feed?.isComplete == false }

    /// The next row with the number of its first line; nil at the end.
    mutating func next() throws -> (line: Int, row: Result<ForeignRow, ImportFaults>)? {
        switch shape {
        case .lines: try nextLine()
        case .elements: try nextElement()
        case .table: try nextRecord()
        case .xml: try nextXML()
        }
    }

    private mutating func nextLine() throws -> (line: Int, row: Result<ForeignRow, ImportFaults>)? {
        let found = try cutter.next { bytes, isEnd throws(ImportFaults) in try ImportLine.cut(bytes, isEnd: isEnd) }
        guard let (line, content) = found else { return nil }
        // Only a file that was cut off ends within an object.
        if case .success(let bytes) = content, cutter.isInOpenLine, elements.isIncomplete(bytes) {
            isCutOff = true
            return nil
        }
        return (line, Self.row(content))
    }

    private mutating func nextElement() throws -> (line: Int, row: Result<ForeignRow, ImportFaults>)? {
        let found = try cutter.next { bytes, isEnd throws(ImportFaults) in try elements.cut(bytes, isEnd: isEnd) }
        return found.map { ($0.line, Self.row($0.record)) }
    }

    private mutating func nextXML() throws -> (line: Int, row: Result<ForeignRow, ImportFaults>)? {
        let found = try cutter.next { bytes, isEnd throws(ImportFaults) in
            feed == nil ? try XMLLine.cut(bytes, isEnd: isEnd) : try feed?.cut(bytes, isEnd: isEnd)
        }
        guard let (line, content) = found else { return nil }
        let row = Result { () throws(ImportFaults) -> ForeignRow in .elements(try XMLElements(content.get())) }
        if case .failure(let faults) = row, cutter.isInOpenLine, faults.isOfUnfinishedXML {
            isCutOff = true
            return nil
        }
        return (line, row)
    }

    private mutating func nextRecord() throws -> (line: Int, row: Result<ForeignRow, ImportFaults>)? {
        if header == nil {
            guard let (_, names) = try nextFields() else { return nil }
            let columns = (try? names.get()) ?? []
            try columns.checkHeader()
            header = CSVHeader(columns)
        }
        guard let header, let (line, fields) = try nextFields() else { return nil }
        if cutter.isInOpenLine, fields.isUnfinished(header.count) {
            isCutOff = true
            return nil
        }
        let row = Result { () throws(ImportFaults) -> ForeignRow in
            let values = try fields.get()
            guard values.count == header.count else {
                throw ImportFaults([.wrongColumns(values.count, header: header.count)])
            }
            return .table(CSVRow(header: header, values: values))
        }
        return (line, row)
    }

    private mutating func nextFields() throws -> (line: Int, record: Result<[String?], ImportFaults>)? {
        try cutter.next { bytes, isEnd throws(ImportFaults) in try CSVRecord.cut(bytes, isEnd: isEnd) }
    }

    private static func row(_ content: Result<ArraySlice<UInt8>, ImportFaults>) -> Result<ForeignRow, ImportFaults> {
        Result { () throws(ImportFaults) in
            let bytes = try content.get()
            do throws(JSONFaults) {
                let document = try JSONDocument(Array(bytes), depthMax: valueDepthMax)
                guard let object = document.root.object() else { throw JSONFaults(document.faults) }
                return .json(object)
            } catch {
                throw ImportFaults(error)
            }
        }
    }
}
