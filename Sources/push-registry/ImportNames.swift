import PushRegistry

/// What the columns and members of a file mean.
struct ImportNames: Sendable {
    /// How many unknown names are told, and how much of each.
    private static let unknownMax = 20
    private static let unknownCharactersMax = 64
    /// Members of an export that an import has no use for.
    private static let ignored: Set<String> = ["cursor", "localTime"]

    private let foreign: [String: ImportField]
    /// Names that mean nothing here, in the order they were met.
    private(set) var unknown: [String] = []

    /// - Parameter map: foreign names and ours.
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
