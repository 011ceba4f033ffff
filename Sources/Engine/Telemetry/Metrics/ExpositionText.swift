/// The text exposition format, version 0.0.4: the body of the response to a scrape.
struct ExpositionText {
    private(set) var bytes: [UInt8] = []

    mutating func header(_ name: String, _ kind: MetricKind, _ help: String?) {
        if let help { append("# HELP \(name) \(Self.escaped(help, quotes: false))\n") }
        append("# TYPE \(name) \(kind.rawValue)\n")
    }

    mutating func sample(_ name: String, labels: String, _ value: String) {
        append(name)
        if !labels.isEmpty {
            append("{")
            append(labels)
            append("}")
        }
        append(" ")
        append(value)
        append("\n")
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }
}

extension ExpositionText {
    /// Whole numbers without a fraction; `+Inf`, `-Inf` and `NaN` in Go's spelling.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        // Below 2^53 a double represents every whole number exactly.
        if value.rounded() == value, value.magnitude < 9_007_199_254_740_992 { return "\(Int64(value))" }
        return "\(value)"
    }

    /// The labels of a series as they are written between the braces, sorted by name, so that the text identifies the
    /// series.
    ///
    /// If two dimensions have the same name, the last one counts. An empty value means that the label is absent.
    static func labels(_ dimensions: [(String, String)]) -> String {
        var values: [String: String] = [:]
        for (name, value) in dimensions { values[PrometheusName.label(name)] = value }
        return values.filter { !$0.value.isEmpty }
            .sorted { $0.key < $1.key }
            .map { "\($0.key)=\"\(escaped($0.value, quotes: true))\"" }
            .joined(separator: ",")
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quotes: escaped.append(contentsOf: "\\\"".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
