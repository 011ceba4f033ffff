import PushRegistry

/// The fields of the columns of a CSV file, from its header.
struct CSVColumns {
    private let fields: [ImportField?]
    let names: ImportNames

    /// - Throws: `ImportFailure` for a header without the required columns. The error quotes no names: a file without a
    ///   header may have a token in its first line.
    init(header: [String?], _ names: ImportNames) throws {
        try header.checkHeader()
        var names = names
        let known = header.map { names.field($0 ?? "") }
        for required in [ImportField.installID, .token] where !known.contains(required) {
            throw ImportFailure(
                "The first line must be the header; it has no column \(required.name). "
                    + "If the column has another name, use --map theirs=\(required.name).")
        }
        for (index, field) in known.enumerated() where field != nil && known[..<index].contains(field) {
            throw ImportFailure("The header has two columns for \(field?.name ?? "").")
        }
        for (name, field) in zip(header, known) where field == nil { names.noteUnknown(name ?? "") }
        fields = known
        self.names = names
    }

    func record(_ values: [String?]) throws(ImportFaults) -> ImportRecord {
        guard values.count == fields.count else {
            throw ImportFaults([.wrongColumns(values.count, header: fields.count)])
        }
        var record = ImportRecord()
        for (field, value) in zip(fields, values) {
            if let field { record[field] = value }
        }
        return record
    }
}
