import PushRegistry
import StrictJSON

/// Maps the names of columns and members to fields.
struct ImportNames: Sendable {
    /// How many unknown names are reported, and how many characters of each.
    private static let unknownMax = 20
    private static let unknownCharactersMax = 64
    /// Members of an export that an import does not need.
    private static let ignored: Set<String> = ["cursor", "localTime"]

    /// Members whose place is remembered.
    private static let remembered = 64

    private let foreign: [String: ImportField]
    /// The names of the members of the last line, by their place: most lines have the same ones in the same order.
    private var layout: [(name: [UInt8], field: ImportField?)] = []
    /// Unknown names, in the order of their first occurrence.
    private(set) var unknown: [String] = []

    /// - Parameter map: the fields of names that differ from ours.
    init(map: [String: ImportField] = [:]) {
        foreign = map
    }

    func field(_ name: String) -> ImportField? {
        foreign[name] ?? ImportField(name)
    }

    /// The field of a member. It is looked up by name only if the last line had another member at this place.
    mutating func field(_ member: JSONMember, at place: Int) -> ImportField? {
        if place < layout.count, member.isNamed(layout[place].name) { return layout[place].field }
        let name = member.name
        let found = field(name)
        if place < layout.count {
            layout[place] = (Array(name.utf8), found)
        } else if place == layout.count, place < Self.remembered {
            layout.append((Array(name.utf8), found))
        }
        return found
    }

    mutating func noteUnknown(_ name: String) {
        let shown = String(name.prefix(Self.unknownCharactersMax))
        guard !Self.ignored.contains(name), unknown.count < Self.unknownMax, !unknown.contains(shown) else { return }
        unknown.append(shown)
    }
}
