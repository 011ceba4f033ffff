import PushRegistry
import StrictJSON

/// The kind of the files of a run.
enum ImportSource: Sendable {
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
struct ImportDetection {
    /// How many rows of a file are read: the first ones may lack values.
    private static let rowsMax = 20

    enum Found: Hashable {
        case own
        case foreign(String)
    }

    /// - Parameter format: given, or nil if the first rows decide.
    /// - Throws: `ImportFailure` for a file that is neither, and if the files differ.
    static func find(in files: ImportFiles, _ names: ImportNames) throws -> ForeignFormat? {
        var found: Found?
        try files.forEachPart { part in
            guard let kind = try detect(part, names) else { return true }
            guard found == nil || found == kind else {
                throw ImportFailure("\(part.name) is of another kind than the files before it. Import it by itself.")
            }
            found = kind
            return true
        }
        guard case .foreign(let name) = found else { return nil }
        return ForeignFormat.all.first { $0.name == name }
    }

    /// Nil for an empty file.
    private static func detect(_ part: ImportFiles.Part, _ names: ImportNames) throws -> Found? {
        let wrappers = ForeignFormat.all.reduce(into: ImportSource.ownWrappers) { $0.formUnion($1.wrappers) }
        let head = PeekableBytes(HeadBytes(part.bytes.peek(InputShape.peekBytes)))
        let shape = InputShape(head.peek(InputShape.peekBytes), wrappers: wrappers)
        guard let shape, var rows = ForeignRows(head, wrappers: wrappers) else { return nil }
        var hasNames = false
        for _ in 0..<rowsMax {
            guard let (_, row) = try rows.next() else { break }
            guard case .success(let row) = row else { continue }
            if names.areIn(row) { return .own }
            if let format = ForeignFormat.all.first(where: { $0.fits(row) }) { return .foreign(format.name) }
            hasNames = hasNames || row.hasNames
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
