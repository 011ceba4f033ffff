import Metrics

/// What a pool tells the operator.
struct PoolMeters: Sendable {
    private let pool: String
    private let connectionsGauge: Gauge
    private let waitingGauge: Gauge

    init(pool: String) {
        self.pool = pool
        connectionsGauge = Gauge(label: "postgres_pool_connections", dimensions: [("pool", pool)])
        waitingGauge = Gauge(label: "postgres_pool_waiting", dimensions: [("pool", pool)])
    }

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
