/// All metrics by name, with a limit. A value without a lock: its owner guards it.
struct SeriesTable: Sendable {
    private let seriesMax: Int
    private var seriesCount = 0
    private(set) var families: [String: MetricFamily] = [:]
    /// Every sample name in use.
    private var usedNames: Set<String>

    init(seriesMax: Int, reservedNames: [String]) {
        self.seriesMax = seriesMax
        usedNames = Set(reservedNames)
    }

    /// Finds or creates a series.
    ///
    /// - Returns: nil if `seriesMax` is reached, or if its name belongs to a metric of another kind.
    mutating func series<NewSeries: Series>(
        _ family: MetricFamily, labels: String, make: () -> NewSeries
    ) -> NewSeries? {
        if let known = families[family.name]?.series[labels] { return known as? NewSeries }
        guard seriesCount < seriesMax, admit(family) else { return nil }
        let series = make()
        families[family.name]?.series[labels] = series
        seriesCount += 1
        return series
    }

    /// Adds the family if it is new. False if its name is already in use for another kind.
    private mutating func admit(_ family: MetricFamily) -> Bool {
        if let known = families[family.name] { return known.kind == family.kind }
        guard usedNames.isDisjoint(with: family.sampleNames) else { return false }
        usedNames.formUnion(family.sampleNames)
        families[family.name] = family
        return true
    }

    /// Removes a series, and its family with the last one.
    mutating func remove(_ series: AnyObject) {
        for (name, family) in families {
            guard let labels = family.series.first(where: { $0.value === series })?.key else { continue }
            families[name]?.series[labels] = nil
            seriesCount -= 1
            if family.series.count == 1 { release(family) }
            return
        }
    }

    private mutating func release(_ family: MetricFamily) {
        families[family.name] = nil
        usedNames.subtract(family.sampleNames)
    }
}
