/// The values that an import did not understand, and how many rows have each.
public struct NotUnderstood: Hashable, Sendable {
    /// Values of a field that are named.
    private static let valuesMax = 20
    /// Stands for the values that are not named.
    public static let others = "(others)"

    /// By the field's name and the value.
    public private(set) var counts: [String: [String: Int]] = [:]

    public init() {}

    public mutating func add(_ field: ImportField, _ value: String) {
        let known = counts[field.name] ?? [:]
        let named = Self.printable(value).flatMap { known[$0] != nil || known.count < Self.valuesMax ? $0 : nil }
        counts[field.name, default: [:]][named ?? Self.others, default: 0] += 1
    }

    /// The text if it may be printed. Nil for one that may be a token, an address or a telephone number: a column may
    /// have been mapped wrongly, or a file may have no header.
    public static func printable(_ text: String) -> String? {
        let characters = text.unicodeScalars
        guard characters.count <= 40, characters.filter({ $0.properties.numericType != nil }).count <= 6,
            characters.allSatisfy({ $0.properties.isAlphabetic || " 0123456789_.:/+-()&',".unicodeScalars.contains($0) }
            )
        else { return nil }
        return text
    }
}
