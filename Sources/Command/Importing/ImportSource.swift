import Foundation
import PushRegistry
import StrictJSON

/// The kind of the files of a run.
package enum ImportSource: Sendable {
    /// An export of a registry, or a table whose columns are mapped to its fields.
    case own(ImportNames)
    case foreign(ForeignReader)

    /// The member `format` of the summary.
    var name: String {
        switch self {
        case .own: "push-registry"
        case .foreign(let reader): reader.format.name
        }
    }

    /// Outer objects of our own rows.
    static let ownWrappers: Set<String> = ["installations"]
}

/// Detects the kind of files by their first rows.
package struct ImportDetection {
    /// How many rows of a file are read: the first ones may lack values.
    private static let rowsMax = 20

    enum Found: Hashable {
        case own
        case foreign(String)
    }

    /// - Parameter given: the value of `--from`; nil if the first rows decide.
    /// - Returns: nil for our own format.
    /// - Throws: `ImportFailure` for a file of another kind than the given one, for a file of no kind, for an export of
    ///   typed tokens, and if the files differ.
    package static func find(
        in files: ImportFiles, _ names: ImportNames, given: ForeignFormat?
    ) throws -> ForeignFormat? {
        var found = given.map { Found.foreign($0.name) }
        try files.forEachPart { part in
            guard let kind = try detect(part, names, given) else { return true }
            guard found == nil || found == kind else {
                guard let given else {
                    throw ImportFailure(
                        "\(part.name) is of another kind than the files before it. Import it by itself.")
                }
                throw ImportFailure("\(part.name) is no export of \(given.system), but \(kind.advice).")
            }
            found = kind
            return true
        }
        guard case .foreign(let name) = found else { return nil }
        return ForeignFormat.all.first { $0.name == name }
    }

    /// Nil for a file without rows, and for one of no kind if the format is given.
    private static func detect(
        _ part: ImportFiles.Part, _ names: ImportNames, _ given: ForeignFormat?
    ) throws -> Found? {
        let wrappers = ForeignFormat.all.reduce(into: ImportSource.ownWrappers) { $0.formUnion($1.wrappers) }
        let elements = ElementSplitter(wrappers: wrappers, allowsEmptyPages: false)
        let peeked = part.bytes.peek(InputShape.peekBytes)
        // A file of which nothing can be read is not an empty one.
        if peeked.isEmpty { _ = try part.bytes.read() }
        let head = PeekableBytes(HeadBytes(peeked))
        let shape = InputShape(head.peek(InputShape.peekBytes), elements)
        guard let shape, var rows = try ForeignRows(head, elements) else { return nil }
        var found: [Found] = []
        var (hasNames, hasRows) = (false, false)
        for _ in 0..<rowsMax {
            guard let (_, row) = try rows.next() else { break }
            guard case .success(let row) = row else { continue }
            hasRows = true
            if let given, given.fits(row) { return .foreign(given.name) }
            if let kind = try kind(of: row, part, names) { found.append(kind) }
            hasNames = hasNames || row.hasNames
        }
        // A table may have a header and no rows.
        if shape == .table, !hasRows, found.isEmpty {
            let header = ForeignRow.table(CSVRow(header: CSVHeader(rows.columnNames), values: []))
            found += try kind(of: header, part, names).map { [$0] } ?? []
        }
        if let kind = found.first { return kind }
        if let given {
            guard shape == .table, hasRows else { return nil }
            let columns = given.signatures.map { $0.map(\.text).joined(separator: " and ") }
            throw ImportFailure(
                "\(part.name) is no export of \(given.system): the first line must be the header with the columns "
                    + columns.joined(separator: ", or ") + ".")
        }
        switch shape {
        case .table:
            _ = try CSVColumns(header: rows.columnNames, names)
            return .own
        case .lines where !hasNames, .elements where !hasNames: return .own
        default:
            throw ImportFailure(
                "\(part.name) is neither an export of a registry nor of a supported system: "
                    + "use --from or --map.")
        }
    }

    private static func kind(of row: ForeignRow, _ part: ImportFiles.Part, _ names: ImportNames) throws -> Found? {
        if names.areIn(row) {
            guard ImportNames.ofTypedTokens.isDisjoint(with: row.names) else {
                throw ImportFailure(
                    "\(part.name) is an export of typed tokens, as of Live Activities. They would become main tokens: "
                        + "export without kind. Apps bring their typed tokens with the next registration. A table of "
                        + "your own needs --map, such as --map installId=installId.")
            }
            return .own
        }
        let format =
            ForeignFormat.all.first { $0.fits(row) } ?? ForeignFormat.all.first { $0.isEmptyPage(row) }
        return format.map { .foreign($0.name) }
    }
}

extension ImportDetection.Found {
    /// The option for a file of this kind.
    fileprivate var advice: String {
        switch self {
        case .own: "of a registry: leave --from out"
        case .foreign(let name): "looks like one of --from \(name)"
        }
    }
}

/// The first bytes of a source, as a source of their own.
private final class HeadBytes: ByteSource {
    private var bytes: [UInt8]?

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes.isEmpty ? nil : Array(bytes)
    }

    func read() -> [UInt8]? {
        defer { bytes = nil }
        return bytes
    }
}

extension ImportNames {
    /// Whether a row has the fields that a row of our own always has, or one of them and no other names.
    fileprivate func areIn(_ row: ForeignRow) -> Bool {
        let fields = row.names.map(field)
        let required = [ImportField.installID, .token].filter(fields.contains)
        if required.count == 2 { return true }
        return required.count == 1 && zip(row.names, fields).allSatisfy { $1 != nil || $0 == "keys" }
    }
}

extension ForeignRow {
    fileprivate var hasNames: Bool { !names.isEmpty }

    /// The names of the outermost members or columns.
    fileprivate var names: [String] {
        switch self {
        case .json(let object): object.members.map(\.name)
        case .table(let row): row.header.names
        case .elements, .scopes, .named: []
        }
    }
}

/// How a file is split into rows.
package enum InputShape: Hashable, Sendable {
    /// One JSON object a line.
    case lines
    /// An array of objects, pages of a list, or objects that take several lines.
    case elements
    /// CSV with a header.
    case table
    /// One XML element a line.
    case xml

    /// How many bytes are looked at.
    static let peekBytes = 64 * 1_024

    /// By the first bytes. Nil for a file that is empty.
    ///
    /// - Parameter elements: of the format, or of all formats.
    init?(_ bytes: ArraySlice<UInt8>, _ elements: ElementSplitter) {
        var rest = bytes
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = rest.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        switch rest.first {
        case nil: return nil
        case UInt8(ascii: "<"): self = .xml
        case UInt8(ascii: "["): self = .elements
        case UInt8(ascii: "{"):
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            let isCut = line.endIndex < rest.endIndex && elements.isIncomplete(line)
            self = isCut || elements.isOuter(rest) ? .elements : .lines
        default: self = .table
        }
    }

    /// The value of `--format`, or the extension of a file's name; nil for others.
    package init?(name: String) {
        switch name {
        case "ndjson", "jsonl": self = .lines
        case "csv": self = .table
        default: return nil
        }
    }
}
