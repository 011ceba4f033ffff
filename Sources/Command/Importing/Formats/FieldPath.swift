/// Where a value stands in a row: the names of nested members, or the name of a column or of an XML element.
package struct FieldPath: Hashable, Sendable, ExpressibleByStringLiteral {
    /// With dots between the members: also the name of a column.
    let text: String
    /// The name of a column: names of columns are compared in any case.
    let column: String
    /// The members from the outermost, as bytes for comparisons with a JSON text.
    let members: [[UInt8]]

    package init(_ text: String) {
        self.text = text
        column = text.lowercased()
        members = text.split(separator: ".").map { Array($0.utf8) }
    }

    package init(stringLiteral text: String) {
        self.init(text)
    }
}
