import PushRegistry
import StrictJSON

/// Maps the names of columns and members to fields.
package struct ImportNames: Sendable {
    /// How many unknown names are reported.
    private static let unknownMax = 20
    /// Members of an export that an import does not need.
    private static let ignored: Set<String> = ["cursor", "localTime"]
    /// Members that only exports of typed tokens have.
    static let ofTypedTokens: Set<String> = ["environment", "name", "expiresAt"]

    /// Members whose names are remembered.
    private static let remembered = 64

    private let foreign: [String: ImportField]
    /// The names of members, in the order in which lines have them. Most lines leave some out.
    private var layout: [(name: [UInt8], field: ImportField?)] = []
    /// The index in `layout` behind the member that was found last.
    private var next = 0
    /// Unknown names, in the order of their first occurrence.
    private(set) var unknown: [String] = []

    /// - Parameter map: the fields of names that differ from ours.
    package init(map: [String: ImportField] = [:]) {
        foreign = map
    }

    func field(_ name: String) -> ImportField? {
        foreign[name] ?? ImportField(name)
    }

    mutating func beginLine() { next = 0 }

    /// The field of the next member of a line. It is looked up by name only if no line before had this member.
    mutating func field(_ member: JSONMember) -> ImportField? {
        for place in layout.indices.suffix(from: next) where member.isNamed(layout[place].name) {
            next = place + 1
            return layout[place].field
        }
        for place in 0..<next where member.isNamed(layout[place].name) { return layout[place].field }
        let name = member.name
        let found = field(name)
        guard layout.count < Self.remembered else { return found }
        layout.insert((Array(name.utf8), found), at: next)
        next += 1
        return found
    }

    mutating func noteUnknown(_ name: String) {
        let shown = NotUnderstood.printable(name) ?? NotUnderstood.others
        guard !Self.ignored.contains(name), unknown.count < Self.unknownMax, !unknown.contains(shown) else { return }
        unknown.append(shown)
    }
}
