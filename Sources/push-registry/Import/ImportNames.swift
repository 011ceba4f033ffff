import PushRegistry

/// Maps the names of columns and members to fields.
struct ImportNames: Sendable {
    /// How many unknown names are reported, and how many characters of each.
    private static let unknownMax = 20
    private static let unknownCharactersMax = 64
    /// Members of an export that an import does not need.
    private static let ignored: Set<String> = ["cursor", "localTime"]

    private let foreign: [String: ImportField]
    /// Unknown names, in the order of their first occurrence.
    private(set) var unknown: [String] = []

    /// - Parameter map: the fields of names that differ from ours.
    init(map: [String: ImportField] = [:]) {
        foreign = map
    }

    func field(_ name: String) -> ImportField? {
        foreign[name] ?? ImportField(name)
    }

    mutating func noteUnknown(_ name: String) {
        let shown = String(name.prefix(Self.unknownCharactersMax))
        guard !Self.ignored.contains(name), unknown.count < Self.unknownMax, !unknown.contains(shown) else { return }
        unknown.append(shown)
    }
}
