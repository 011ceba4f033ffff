import PushRegistry
import StrictJSON

extension JSONObject {
    /// Adds a fault at every member whose name is not among these. It names the nearest name, or all that there are.
    func refuseUnknownMembers(besides names: [StaticString]) {
        let known = names.map(\.description)
        for (name, value) in members where !known.contains(name) {
            value.refuse(.unknownMember, "No member has this name. " + NearestName.hint(for: name, among: known))
        }
    }
}
