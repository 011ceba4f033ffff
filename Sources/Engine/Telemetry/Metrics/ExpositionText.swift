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

/// Converts the labels of metrics and dimensions to names that Prometheus accepts.
enum PrometheusName {
    /// `[a-zA-Z_:][a-zA-Z0-9_:]*`: any other character becomes an underscore.
    static func metric(_ label: String) -> String {
        sanitised(label) { $0 == ":" }
    }

    /// A counter's name ends with `_total`.
    static func counter(_ label: String) -> String {
        let name = metric(label)
        return name.hasSuffix("_total") ? name : name + "_total"
    }

    /// `[a-zA-Z_][a-zA-Z0-9_]*`, without two leading underscores, which Prometheus reserves. `le` belongs to
    /// histograms.
    static func label(_ dimension: String) -> String {
        var name = sanitised(dimension) { _ in false }
        while name.hasPrefix("__") { name.removeFirst() }
        return name == "le" ? "exported_le" : name
    }

    private static func sanitised(_ text: String, isAllowed: (Unicode.Scalar) -> Bool) -> String {
        var name = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            name.append(scalar.isNameCharacter || isAllowed(scalar) ? scalar : "_")
        }
        if name.first.map({ ("0"..."9").contains($0) }) ?? true { name.insert("_", at: name.startIndex) }
        return String(name)
    }
}

extension Unicode.Scalar {
    fileprivate var isNameCharacter: Bool {
        switch self {
        case "a"..."z", "A"..."Z", "0"..."9", "_": true
        default: false
        }
    }
}
