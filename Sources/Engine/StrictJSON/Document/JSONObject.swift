/// Whether a member may be absent; `null` counts as absent.
public enum JSONPresence: Sendable {
    /// `required` makes an absent member a fault; `optional` makes it nil only.
    case required, optional
}

/// An object of a document, read member by member. An access returns nil if the member is absent or does not fit. It
/// adds a fault to the document if a required member is absent, or if a member does not fit.
///
/// A search starts after the member that was found last, so that reading the members in the order of the text takes one
/// pass.
public struct JSONObject {
    let document: JSONDocument
    let index: Int

    /// - Parameter scalarsMax: the most Unicode scalars allowed (`tooLong`).
    public func string(
        _ name: StaticString, _ presence: JSONPresence = .optional, scalarsMax: Int
    ) -> String? {
        value(name, presence)?.string(scalarsMax: scalarsMax)
    }

    /// Accepts any notation of a whole number, such as `36e2` (`notAnInteger`, `outOfRange`).
    public func integer(
        _ name: StaticString, _ presence: JSONPresence = .optional,
        in range: ClosedRange<Int64> = Int64.min...Int64.max
    ) -> Int64? {
        value(name, presence)?.integer(in: range)
    }

    /// The nearest double; an infinite one is out of any range (`outOfRange`).
    public func double(
        _ name: StaticString, _ presence: JSONPresence = .optional, in range: ClosedRange<Double>
    ) -> Double? {
        value(name, presence)?.double(in: range)
    }

    /// Only `true` and `false` fit, not 0, 1 or a string (`wrongType`).
    public func boolean(_ name: StaticString, _ presence: JSONPresence = .optional) -> Bool? {
        value(name, presence)?.boolean()
    }

    /// The nested object, whose members add their own faults (`wrongType`).
    public func object(_ name: StaticString, _ presence: JSONPresence = .optional) -> JSONObject? {
        value(name, presence)?.object()
    }

    /// - Parameter elementsMax: the most elements allowed (`tooMany`).
    public func array(
        _ name: StaticString, _ presence: JSONPresence = .optional, elementsMax: Int
    ) -> JSONArray? {
        value(name, presence)?.array(elementsMax: elementsMax)
    }

    /// An array of strings. An element that does not fit is a fault at its index and is omitted; a `null` is omitted.
    public func strings(
        _ name: StaticString, _ presence: JSONPresence = .optional, elementsMax: Int, scalarsMax: Int
    ) -> [String]? {
        array(name, presence, elementsMax: elementsMax)?.compactMap { element in
            element.kind == .null ? nil : element.string(scalarsMax: scalarsMax)
        }
    }

    /// The member's value of any type; nil if it is absent or `null`.
    public func value(_ name: StaticString, _ presence: JSONPresence = .optional) -> JSONValue? {
        if let found = find(name), document.nodes[found].kind != .null {
            return JSONValue(document: document, index: found)
        }
        if presence == .required { refuse(member: name, .required, "This member is required.") }
        return nil
    }

    /// Adds a fault at a member, whether it is present or absent.
    public func refuse(member name: StaticString, _ code: JSONFault.Code, _ detail: String) {
        document.add(code, detail, at: index, member: name)
    }

    /// All members in the order of the text.
    public var members: [(name: String, value: JSONValue)] {
        var members: [(name: String, value: JSONValue)] = []
        forEachName {
            members.append((document.string(at: $0), JSONValue(document: document, index: $0 + 1)))
        }
        return members
    }

    /// Calls `body` with each member in the order of the text. It creates no strings.
    public func forEachMember(_ body: (JSONMember) -> Void) {
        forEachName { body(JSONMember(document: document, index: $0)) }
    }

    /// The value of the member whose name has these bytes, `null` too; nil if it is absent.
    public func value(named name: [UInt8]) -> JSONValue? {
        let end = Int(document.nodes[index].next)
        var at = index + 1
        while at < end {
            let member = JSONMember(document: document, index: at)
            if member.isNamed(name) { return member.value }
            at = Int(document.nodes[at + 1].next)
        }
        return nil
    }

    /// The object as a value, for example to report a fault of the whole object.
    public var value: JSONValue {
        JSONValue(document: document, index: index)
    }

    private func forEachName(_ body: (Int) -> Void) {
        let end = Int(document.nodes[index].next)
        var name = index + 1
        while name < end {
            body(name)
            name = Int(document.nodes[name + 1].next)
        }
    }

    /// Returns the index of the member's value. Searches from the document's cursor to the end, then from the start to
    /// the cursor.
    private func find(_ name: StaticString) -> Int? {
        let (first, end) = (index + 1, Int(document.nodes[index].next))
        let cursor = document.cursorOwner == index ? document.cursor : first
        return find(name, from: cursor, to: end) ?? find(name, from: first, to: cursor)
    }

    private func find(_ name: StaticString, from start: Int, to end: Int) -> Int? {
        var at = start
        while at < end {
            let next = Int(document.nodes[at + 1].next)
            if document.isName(at, name) {
                document.cursor = next
                document.cursorOwner = index
                return at + 1
            }
            at = next
        }
        return nil
    }
}

/// A member of an object.
public struct JSONMember {
    let document: JSONDocument
    /// Of the name.
    let index: Int

    /// Decoded, in a new string; `isNamed` compares without one.
    public var name: String { document.string(at: index) }
    /// `null` too.
    public var value: JSONValue { JSONValue(document: document, index: index + 1) }

    /// Whether the name is this one, escapes decoded.
    public func isNamed(_ name: StaticString) -> Bool { document.isName(index, name) }

    /// Whether the name has exactly these bytes in the text. False for a name with an escape, even if it decodes to
    /// them.
    public func isNamed(_ name: [UInt8]) -> Bool {
        let node = document.nodes[index]
        guard !node.isEscaped, Int(node.end &- node.start) == name.count else { return false }
        return document.bytes[Int(node.start)..<Int(node.end)].elementsEqual(name)
    }
}
