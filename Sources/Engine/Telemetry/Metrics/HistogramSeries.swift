import Basics
import CoreMetrics
import Synchronization

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
