import PushRegistry
import StrictJSON

extension JSONValue {
    /// The string within the limit of the domain; nil for `null` and after a fault. In documents that refuse `null`,
    /// the document has already added a fault for it.
    func text() -> String? {
        kind == .null ? nil : string(scalarsMax: Device.textScalarsMax)
    }

    /// The parsed text; nil for `null`, and after a fault.
    func parsedText<Value>(_ parse: (String) throws(InvalidValue) -> Value) -> Value? {
        text().flatMap { text in parsed { () throws(InvalidValue) in try parse(text) } }
    }

    func refuse(_ reason: InvalidValue) {
        refuse(JSONFault.Code(rawValue: reason.code), reason.detail)
    }

    /// The parsed value; nil after a fault.
    func parsed<Value>(_ parse: () throws(InvalidValue) -> Value) -> Value? {
        do throws(InvalidValue) {
            return try parse()
        } catch {
            refuse(error)
            return nil
        }
    }

    /// Adds a fault at the value of a member that does not exist.
    func refuseUnknownMember(_ name: String, among known: [String]) {
        refuse(.unknownMember, "No member has this name. " + NearestName.hint(for: name, among: known))
    }
}

extension JSONObject {
    /// Reads a body that is an object.
    ///
    /// - Parameters:
    ///   - members: all members that the body may have; nil: others are ignored.
    ///   - read: reads the members. Nil, or a fault that it adds, makes the body invalid.
    /// - Throws: `JSONFaults` with every fault; what `read` throws.
    static func read<Value>(
        _ body: [UInt8], members: [StaticString]? = nil, refusesNull: Bool = false,
        _ read: (JSONObject) throws -> Value?
    ) throws -> Value {
        let document = try JSONDocument(body, refusesNull: refusesNull)
        let root = document.root.object()
        if let members { root?.refuseUnknownMembers(besides: members) }
        let value = try root.flatMap(read)
        try document.check()
        guard let value else { throw StoreError.failed("a body lacks a value and a fault") }
        return value
    }

    func refuse(member name: StaticString, _ reason: InvalidValue) {
        refuse(member: name, JSONFault.Code(rawValue: reason.code), reason.detail)
    }

    /// The parsed value; nil after a fault at the member.
    func parsed<Value>(_ name: StaticString, _ parse: () throws(InvalidValue) -> Value) -> Value? {
        do throws(InvalidValue) {
            return try parse()
        } catch {
            refuse(member: name, error)
            return nil
        }
    }

    /// Adds a fault at every member whose name is not in the list. It suggests the nearest name, or lists all names.
    func refuseUnknownMembers(besides names: [StaticString]) {
        forEachMember { member in
            guard !names.contains(where: { member.isNamed($0) }) else { return }
            member.value.refuseUnknownMember(member.name, among: names.map(\.description))
        }
    }
}
