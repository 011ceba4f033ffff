extension PrometheusRegistry {
    /// The sums of a counter's whole amounts by the value of one of its labels.
    ///
    /// - Parameters:
    ///   - name: as it is rendered, with the suffix `_total`.
    ///   - label: series without it are left out. Its values must not contain a comma.
    ///   - dimensions: only series with all of these are summed. Their values must not contain a comma.
    public func sums(of name: String, by label: String, where dimensions: [(String, String)] = []) -> [String: Int64] {
        let wanted = dimensions.map { ExpositionText.labels([$0]) }
        return counters(of: name).reduce(into: [:]) { sums, series in
            let labels = series.labels.split(separator: ",")
            guard wanted.allSatisfy({ one in labels.contains { $0 == one } }),
                let found = labels.first(where: { $0.hasPrefix("\(label)=\"") })
            else { return }
            sums[String(found.dropFirst(label.count + 2).dropLast()), default: 0] += series.count
        }
    }
}
