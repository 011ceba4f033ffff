import CoreMetrics
import Synchronization

/// The last recorded value: of a gauge, or of a meter, which can also be changed in steps.
final class GaugeSeries: Series, MeterHandler, RecorderHandler {
    private let value: Atomic<Double>

    init(_ value: Double = 0) {
        self.value = Atomic(value)
    }

    func set(_ value: Int64) {
        set(Double(value))
    }

    func set(_ value: Double) {
        self.value.store(value, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount.isFinite, amount > 0 else { return }
        value.add(amount)
    }

    func decrement(by amount: Double) {
        guard amount.isFinite, amount > 0 else { return }
        value.add(-amount)
    }

    func record(_ value: Int64) {
        set(value)
    }

    func record(_ value: Double) {
        set(value)
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        text.sample(name, labels: labels, ExpositionText.number(value.load(ordering: .relaxed)))
    }
}
