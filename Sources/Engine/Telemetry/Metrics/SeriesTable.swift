import Basics
import CoreMetrics
import Synchronization

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
}

/// All series of one metric name.
struct MetricFamily: Sendable {
    let name: String
    let kind: MetricKind
    let help: String?
    /// By the text of their labels.
    var series: [String: any Series] = [:]

    /// The sample names of its lines, which no other family may use.
    var sampleNames: [String] {
        switch kind {
        case .counter, .gauge: [name]
        case .histogram: [name, name + "_bucket", name + "_sum", name + "_count"]
        }
    }

    init(name: String, kind: MetricKind, help: String?) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// A metric without labels.
    init(_ description: MetricDescription, _ series: any Series) {
        self.init(name: description.name, kind: description.kind, help: description.help)
        self.series = ["": series]
    }

    /// - Parameter fullName: the name that Prometheus sees.
    func write(as fullName: String, to text: inout ExpositionText) {
        text.header(fullName, kind, help)
        for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
            series.write(fullName, labels: labels, to: &text)
        }
    }
}

/// The values of one metric name with one set of labels. The same name and labels share one object, on all threads.
protocol Series: AnyObject, Sendable {
    func write(_ name: String, labels: String, to text: inout ExpositionText)
}

/// A sum that only grows, except for `reset`.
final class CounterSeries: Series, CounterHandler {
    private let sum = Atomic<Int64>(0)
    private let parts = Locked<[CounterSeries]>([])

    /// A counter whose amounts belong to this one's.
    func makePart() -> CounterSeries {
        let part = CounterSeries()
        parts.withLock { $0.append(part) }
        return part
    }

    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        sum.wrappingAdd(amount, ordering: .relaxed)
    }

    var count: Int64 {
        parts.withLock { $0 }.reduce(sum.load(ordering: .relaxed)) { $0 + $1.count }
    }

    func reset() {
        sum.store(0, ordering: .relaxed)
        for part in parts.withLock({ $0 }) { part.reset() }
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        text.sample(name, labels: labels, "\(count)")
    }
}

extension Atomic where Value == Double {
    /// Adds to the value, and retries if another thread changed it: the hardware has no atomic addition for doubles.
    func add(_ amount: Double) {
        var old = load(ordering: .relaxed)
        while true {
            let (isDone, now) = weakCompareExchange(expected: old, desired: old + amount, ordering: .relaxed)
            if isDone { return }
            old = now
        }
    }
}

/// The last recorded value.
final class GaugeSeries: Series, RecorderHandler {
    private let value: Atomic<Double>

    init(_ value: Double = 0) {
        self.value = Atomic(value)
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        self.value.store(value, ordering: .relaxed)
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        text.sample(name, labels: labels, ExpositionText.number(value.load(ordering: .relaxed)))
    }
}

/// The number of values in each bucket, and their sum; a timer's unit is the second.
///
/// A scrape may see a value in the counts and not yet in the sum, or the other way round. The counts are consistent
/// with each other.
final class HistogramSeries: Series, RecorderHandler, TimerHandler {
    /// Upper bounds, inclusive.
    private let bounds: [Double]
    /// One more than there are bounds: the last bucket holds the values above all bounds.
    private let buckets: [Bucket]
    private let sum = Atomic<Double>(0)
    private let parts = Locked<[HistogramSeries]>([])

    private final class Bucket: Sendable {
        let count = Atomic<Int64>(0)
    }

    init(bounds: [Double]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Bucket() }
    }

    /// A histogram whose values belong to this one's.
    func makePart() -> HistogramSeries {
        let part = HistogramSeries(bounds: bounds)
        parts.withLock { $0.append(part) }
        return part
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        buckets[index(of: value)].count.wrappingAdd(1, ordering: .relaxed)
        sum.add(value)
    }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1e9)
    }

    /// Searches from the lowest bound: there are few bounds, and most values are small.
    private func index(of value: Double) -> Int {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        return index
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        let prefix = labels.isEmpty ? "" : labels + ","
        let all = [self] + parts.withLock { $0 }
        var count: Int64 = 0
        for (index, bound) in (bounds + [.infinity]).enumerated() {
            for part in all { count += part.buckets[index].count.load(ordering: .relaxed) }
            let bound = ExpositionText.number(bound)
            text.sample(name + "_bucket", labels: "\(prefix)le=\"\(bound)\"", "\(count)")
        }
        let sum = all.reduce(0) { $0 + $1.sum.load(ordering: .relaxed) }
        text.sample(name + "_sum", labels: labels, ExpositionText.number(sum))
        text.sample(name + "_count", labels: labels, "\(count)")
    }
}
