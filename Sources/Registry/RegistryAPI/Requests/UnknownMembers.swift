import PushRegistry
import StrictJSON

extension JSONObject {
    /// Adds a fault at every member whose name is not in the list. It suggests the nearest name, or lists all names.
    func refuseUnknownMembers(besides names: [StaticString]) {
        forEachMember { member in
            guard !names.contains(where: { member.isNamed($0) }) else { return }
            member.value.refuseUnknownMember(member.name, among: names.map(\.description))
        }
    }
}

extension JSONValue {
    /// Adds a fault at the value of a member that does not exist.
    func refuseUnknownMember(_ name: String, among known: [String]) {
        refuse(.unknownMember, "No member has this name. " + NearestName.hint(for: name, among: known))
    }
}
