import Foundation

/// One run of one side: HTTP load on the service, or pgbench.
struct Measurement: Sendable {
    let perSecond: Double
    /// Latency of a request.
    var p99Milliseconds: Double?
    /// CPU time of the service per request.
    var serviceMicroseconds: Double?
    /// CPU time of all of PostgreSQL's processes per request or transaction.
    var postgresMicroseconds: Double?
    /// Responses that were not 2xx, and broken connections.
    var failures = 0
    /// The share of responses with the result that the row measures.
    var expectedShare: Double?

    init(_ result: PgBench.Result) {
        perSecond = result.transactionsPerSecond
        postgresMicroseconds = result.postgresMicroseconds
    }

    /// Figures per request.
    init(_ result: Wrk.Result, _ cpu: CPUReading, expectedShare: Double?) {
        let count = Double(max(result.count, 1))
        perSecond = count / max(result.seconds, 0.001)
        p99Milliseconds = result.p99Milliseconds
        serviceMicroseconds = cpu.service / count * 1_000_000
        postgresMicroseconds = cpu.postgres / count * 1_000_000
        failures = result.failures
        self.expectedShare = expectedShare
    }

    /// Figures per item, without PostgreSQL.
    init(_ result: Wrk.Result, service cpuSeconds: Double, itemsPerRequest: Int = 1) {
        self.init(count: result.count * itemsPerRequest, seconds: result.seconds, service: cpuSeconds)
        p99Milliseconds = result.p99Milliseconds
        failures = result.failures
    }

    init(count: Int, seconds: Double, service cpuSeconds: Double) {
        perSecond = Double(count) / max(seconds, 0.001)
        serviceMicroseconds = cpuSeconds / Double(max(count, 1)) * 1_000_000
    }

    /// Figures per item of feedback, which is expected to change an installation.
    init(_ result: Wrk.Result, _ cpu: CPUReading) {
        let items = Double(max(result.counts["received"] ?? 0, 1))
        perSecond = items / max(result.seconds, 0.001)
        serviceMicroseconds = cpu.service / items * 1_000_000
        postgresMicroseconds = cpu.postgres / items * 1_000_000
        failures = result.failures
        expectedShare = ["suspect", "unregistered"].reduce(0) { $0 + Double(result.counts[$1] ?? 0) } / items
    }
}

extension Measurement {
    /// The figures of a command that processed `count` items.
    init(count: Int, seconds: Double, _ cpu: CPUReading, expectedShare: Double? = nil) {
        perSecond = Double(count) / max(seconds, 0.001)
        serviceMicroseconds = cpu.service / Double(count) * 1_000_000
        postgresMicroseconds = cpu.postgres / Double(count) * 1_000_000
        self.expectedShare = expectedShare
    }
}

/// CPU seconds used so far, or between two readings.
struct CPUReading: Sendable {
    let service: Double
    let postgres: Double

    init(service: ProcessUsage, postgres: ProcessUsage) throws {
        self.init(service: try service.cpuSeconds(), postgres: try postgres.cpuSecondsWithChildren())
    }

    init(service: Double, postgres: Double) {
        (self.service, self.postgres) = (service, postgres)
    }

    static func - (after: CPUReading, before: CPUReading) -> CPUReading {
        CPUReading(service: after.service - before.service, postgres: after.postgres - before.postgres)
    }
}
