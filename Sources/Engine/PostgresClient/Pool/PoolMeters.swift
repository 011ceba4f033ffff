import Metrics

/// The metrics of a pool.
struct PoolMeters: Sendable {
    private let pool: String
    private let connectionsGauge: Gauge
    private let waitingGauge: Gauge
    private let units: Metrics.Timer
    private let transactions: Metrics.Timer

    init(pool: String) {
        self.pool = pool
        connectionsGauge = Gauge(label: "postgres_pool_connections", dimensions: [("pool", pool)])
        waitingGauge = Gauge(label: "postgres_pool_waiting", dimensions: [("pool", pool)])
        units = Metrics.Timer(label: Self.durationLabel, dimensions: [("pool", pool), ("kind", "unit")])
        transactions = Metrics.Timer(label: Self.durationLabel, dimensions: [("pool", pool), ("kind", "transaction")])
    }

    private static let durationLabel = "postgres_duration_seconds"

    /// From the wait for a connection to the last result of a unit.
    func unit(took duration: Duration) { units.record(duration: duration) }
    /// From the wait for a connection to the end of a transaction or of another exclusive use.
    func transaction(took duration: Duration) { transactions.record(duration: duration) }

    func connections(_ count: Int) {
        connectionsGauge.record(count)
    }

    func waiting(_ count: Int) {
        waitingGauge.record(count)
    }

    func count(_ error: PostgresError) {
        Counter(label: "postgres_errors_total", dimensions: [("pool", pool), ("kind", error.kind.label)]).increment()
    }
}
