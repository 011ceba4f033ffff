import HTTPApplication
import HTTPWire
import PushRegistry

/// The query parameters of a request, each of which may occur once. Filters have a reader of their own.
///
/// `parsed` collects faults, and `check` throws all of them.
struct QueryParameters {
    private var values: [String: String] = [:]
    private var faults: [ParameterFault] = []

    /// - Parameter names: the parameters of the call; any other parameter is a fault.
    /// - Throws: `WireError` for a query that cannot be decoded.
    init(_ request: ServerRequest, _ names: [String]) throws(WireError) {
        for item in try request.head.queryItems() {
            if !names.contains(item.name) {
                let hint = NearestName.hint(for: item.name, among: names)
                faults.append(.query(item.name, "unknown-parameter", "No parameter has this name. " + hint))
            } else if values.updateValue(item.value, forKey: item.name) != nil {
                faults.append(.query(item.name, "invalid-parameter", "The parameter occurs twice."))
            }
        }
    }

    subscript(_ name: String) -> String? { values[name] }

    /// The parsed parameter; nil if it is absent, and after a fault.
    mutating func parsed<Value>(
        _ name: String, _ parse: (String) throws(InvalidValue) -> Value
    ) -> Value? {
        guard let text = values[name] else { return nil }
        return faults.parsed(
            { () throws(InvalidValue) in try parse(text) }, orAdd: { .query(name, $0.code, $0.detail) })
    }

    mutating func integer<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) -> Number? {
        parsed(name) { (text) throws(InvalidValue) in
            guard let number = Number(text), range.contains(number) else {
                let detail = "This must be a whole number from \(range.lowerBound) to \(range.upperBound)."
                throw InvalidValue(code: "out-of-range", detail: detail)
            }
            return number
        }
    }

    mutating func duration(_ name: String) -> ISO8601Duration? {
        parsed(name) { (text) throws(InvalidValue) in try ISO8601Duration(text) }
    }

    /// - Parameter parse: returns nil for a text that is not a cursor of the list.
    mutating func cursor<Cursor>(_ name: String, _ parse: (String) -> Cursor?) -> Cursor? {
        parsed(name) { (text) throws(InvalidValue) in
            guard let cursor = parse(text) else {
                throw InvalidValue(code: "invalid-cursor", detail: "Not a cursor of this list.")
            }
            return cursor
        }
    }

    /// - Throws: `APIError.invalidParameters` with every fault.
    func check() throws(APIError) {
        guard faults.isEmpty else { throw .invalidParameters(faults) }
    }
}
