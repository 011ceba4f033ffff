/// All results of a run.
struct RunReport: BenchmarkReport {
    static let secondsUntilReadyMax = 0.3
    static let idleMegabytesMax = 120.0

    let options: RunOptions
    private(set) var http: [RunRow: [Measurement]] = [:]
    private(set) var upserts: [Measurement] = []
    private(set) var inserts: [Measurement] = []
    var secondsUntilReady: Double?
    var idleMegabytes: Double?
    var flushMicroseconds: Double?
    var engine: EngineReport?

    init(options: RunOptions) {
        self.options = options
    }

    mutating func add(_ measurement: Measurement, to row: RunRow) { http[row, default: []].append(measurement) }
    mutating func addUpserts(_ measurement: Measurement) { upserts.append(measurement) }
    mutating func addInserts(_ measurement: Measurement) { inserts.append(measurement) }

    /// The measurement that a row is compared with: pgbench, or changed registrations.
    func other(_ row: RunRow) -> Measurement? {
        switch row {
        case .takeover, .ownerChange, .logout, .topics, .post: http[.changed]?.median
        case .fetch: http[.unchanged]?.median
        case .unchanged, .changed: upserts.median
        case .first: inserts.median
        case .feedback, .feedbackAgain, .healthz, .start, .idle, .engine: nil
        }
    }
}

// MARK: - Figures

extension RunReport {
    var figures: [Figure] { options.rows.flatMap(figures) }

    private func figures(_ row: RunRow) -> [Figure] {
        switch row {
        case .unchanged, .changed, .first, .healthz: [rate(row), cpu(row)].compactMap(\.self)
        case .takeover, .ownerChange, .logout, .topics, .post, .fetch: [rate(row)].compactMap(\.self)
        case .feedback, .feedbackAgain: [feedback(row)]
        case .start: [limit(row, secondsUntilReady, "s", Self.secondsUntilReadyMax)]
        case .idle: [limit(row, idleMegabytes, "MB", Self.idleMegabytesMax)]
        case .engine: engine?.figures ?? []
        }
    }

    private func rate(_ row: RunRow) -> Figure? {
        http[row]?.median.map { own in
            Figure(
                title: row.title, unit: "a second", value: own.perSecond,
                otherName: row.isComparedToChanged ? "changed" : row.isComparedToUnchanged ? "unchanged" : "pgbench",
                other: other(row)?.perSecond,
                target: row.ratioMin.map(Figure.Target.ratioMin) ?? .none)
        }
    }

    /// The CPU time of the service and PostgreSQL together, compared with PostgreSQL's under pgbench.
    private func cpu(_ row: RunRow) -> Figure? {
        http[row]?.median.map { own in
            Figure(
                title: "\(row.title): CPU", unit: "µs",
                value: (own.serviceMicroseconds ?? 0) + (own.postgresMicroseconds ?? 0), otherName: "pgbench's server",
                other: other(row)?.postgresMicroseconds)
        }
    }

    private func feedback(_ row: RunRow) -> Figure {
        Figure(
            title: row.title, unit: "items a second", value: http[row]?.median?.perSecond,
            target: .valueMin(RunRow.feedbackItemsPerSecondMin))
    }

    private func limit(_ row: RunRow, _ value: Double?, _ unit: String, _ limit: Double) -> Figure {
        Figure(title: row.title, unit: unit, value: value, target: .valueMax(limit))
    }
}
