import Metrics

/// What there is to watch of the queues of a loop's store.
struct StoreMeters: Sendable {
    private let lookUps = Recorder(label: "registration_batch_size", dimensions: [("stage", "lookUp")])
    private let writes = Recorder(label: "registration_batch_size", dimensions: [("stage", "write")])
    private let retries = Counter(label: "registration_batch_retries_total")
    private let splits = Counter(label: "registration_batch_splits_total")
    private let refusals = Counter(label: "registration_refused_total")

    func lookedUp(_ count: Int) { lookUps.record(count) }
    func wrote(_ count: Int) { writes.record(count) }
    /// A batch lost a race and is tried again.
    func retried() { retries.increment() }
    /// A batch is done one by one.
    func split() { splits.increment() }
    /// A registration found the queue full.
    func refused() { refusals.increment() }
}
