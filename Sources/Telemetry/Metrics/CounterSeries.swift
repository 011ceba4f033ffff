import CoreMetrics
import Synchronization

/// A sum that never falls but by `reset`.
///
/// Whole and fractional amounts are kept apart, so that counting events stays exact and costs one addition.
final class CounterSeries: Series, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let fractional = Atomic<Double>(0)

    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount.isFinite, amount > 0 else { return }
        fractional.add(amount)
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        fractional.store(0, ordering: .relaxed)
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        let (count, amount) = (whole.load(ordering: .relaxed), fractional.load(ordering: .relaxed))
        text.sample(name, labels: labels, amount == 0 ? "\(count)" : ExpositionText.number(Double(count) + amount))
    }
}

extension Atomic where Value == Double {
    /// Adds to the value, and again if another thread was quicker: the hardware has no addition of its own for it.
    func add(_ amount: Double) {
        var old = load(ordering: .relaxed)
        while true {
            let (isDone, now) = weakCompareExchange(expected: old, desired: old + amount, ordering: .relaxed)
            if isDone { return }
            old = now
        }
    }
}
