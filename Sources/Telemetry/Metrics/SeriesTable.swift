/// All metrics there are, by name; bounded. A pure value: its owner guards it.
struct SeriesTable: Sendable {
    private let seriesMax: Int
    private var seriesCount = 0
    private(set) var families: [String: MetricFamily] = [:]
    /// Every name that a line may begin with.
    private var claimedNames: Set<String>

    init(seriesMax: Int, reservedNames: [String]) {
        self.seriesMax = seriesMax
        claimedNames = Set(reservedNames)
    }

    /// Finds a series, or makes it.
    ///
    /// - Returns: nil if there is no room for another, or its name belongs to metrics of another kind.
    mutating func series<Made: Series>(
        _ family: MetricFamily, labels: String, make: () -> Made
    ) -> Made? {
        if let known = families[family.name]?.series[labels] { return known as? Made }
        guard seriesCount < seriesMax, admit(family) else { return nil }
        let made = make()
        families[family.name]?.series[labels] = made
        seriesCount += 1
        return made
    }

    /// Whether there is such a family, now at least.
    private mutating func admit(_ family: MetricFamily) -> Bool {
        if let known = families[family.name] { return known.kind == family.kind }
        guard claimedNames.isDisjoint(with: family.sampleNames) else { return false }
        claimedNames.formUnion(family.sampleNames)
        families[family.name] = family
        return true
    }

    /// Forgets a series, and its name with the last one of it.
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
        claimedNames.subtract(family.sampleNames)
    }
}
