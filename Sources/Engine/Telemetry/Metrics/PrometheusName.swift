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
