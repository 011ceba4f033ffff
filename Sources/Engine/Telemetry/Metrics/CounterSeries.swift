import Basics
import CoreMetrics
import Synchronization

/// A sum that only grows, except for `reset`.
///
/// Whole and fractional amounts are separate, so that counting events is exact and costs one addition.
final class CounterSeries: Series, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let fractional = Atomic<Double>(0)
    private let parts = Locked<[CounterSeries]>([])

    /// A counter whose amounts belong to this one's.
    func makePart() -> CounterSeries {
        let part = CounterSeries()
        parts.withLock { $0.append(part) }
        return part
    }

    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount.isFinite, amount > 0 else { return }
        fractional.add(amount)
    }

    /// The sum of whole amounts.
    var count: Int64 {
        parts.withLock { $0 }.reduce(whole.load(ordering: .relaxed)) { $0 + $1.count }
    }

    private var amount: Double {
        parts.withLock { $0 }.reduce(fractional.load(ordering: .relaxed)) { $0 + $1.amount }
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        fractional.store(0, ordering: .relaxed)
        for part in parts.withLock({ $0 }) { part.reset() }
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        let (count, amount) = (count, amount)
        text.sample(name, labels: labels, amount == 0 ? "\(count)" : ExpositionText.number(Double(count) + amount))
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
