import PushRegistry

/// The columns of another system's table. Names are compared in any case. A name may occur several times: then the
/// column has several values.
struct CSVHeader {
    let names: [String]
    private var places: [String: [Int]] = [:]

    init(_ names: [String?]) {
        self.names = names.map { $0 ?? "" }
        for (place, name) in names.enumerated() {
            let name = (name ?? "").trimmingSpaces().lowercased()
            if !name.isEmpty { places[name, default: []].append(place) }
        }
    }

    var count: Int { names.count }

    func places(_ path: FieldPath) -> [Int] { places[path.column] ?? [] }
}

/// A row of such a table.
struct CSVRow {
    let header: CSVHeader
    let values: [String?]

    func has(_ path: FieldPath) -> Bool { !header.places(path).isEmpty }

    func text(_ path: FieldPath) -> String? {
        for place in header.places(path) {
            if let value = values[place], !value.isEmpty { return value }
        }
        return nil
    }

    func texts(_ path: FieldPath) -> [String] {
        header.places(path).compactMap { values[$0] }.filter { !$0.isEmpty }
    }
}
