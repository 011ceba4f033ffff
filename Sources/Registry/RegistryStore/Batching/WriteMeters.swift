import Metrics

/// The metrics of the queues of one kind of write on one loop.
struct WriteMeters: Sendable {
    private let lookUps: Recorder
    private let writes: Recorder
    private let splits: Counter
    private let refusals: Counter

    /// - Parameter kind: `registration`, `logout`.
    init(_ kind: String) {
        lookUps = Recorder(label: "\(kind)_batch_size", dimensions: [("stage", "lookUp")])
        writes = Recorder(label: "\(kind)_batch_size", dimensions: [("stage", "write")])
        splits = Counter(label: "\(kind)_batch_splits_total")
        refusals = Counter(label: "\(kind)_refused_total")
    }

    func lookedUp(_ count: Int) { lookUps.record(count) }
    func wrote(_ count: Int) { writes.record(count) }
    /// A batch is repeated in parts.
    func split() { splits.increment() }
    /// A write found the queue full, or waited too long in it.
    func refused() { refusals.increment() }
}
