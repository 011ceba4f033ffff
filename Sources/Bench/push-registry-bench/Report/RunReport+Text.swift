import Foundation

extension RunReport {
    /// One line per row: the service's figures, pgbench's, the ratio and whether it reaches the target.
    var text: String {
        [options.wantsDatabase ? serviceText : nil, engine?.text].compactMap(\.self).joined(separator: "\n")
    }

    private var serviceText: String {
        let lines = options.rows.compactMap(cells).map(Self.line)
        return ([Self.line(Self.header)] + lines + [""] + notes).joined(separator: "\n") + "\n"
    }

    private static let header = [
        "row", "requests/s", "p50 ms", "p99 ms", "service CPU µs", "PostgreSQL CPU µs", "other/s", "its CPU µs",
        "ratio",
        "target", "",
    ]
    private static let widths = [36, 11, 8, 8, 15, 18, 10, 11, 8, 9, 6]

    private static func line(_ cells: [String]) -> String {
        zip(cells, widths).enumerated().map { index, item in
            let space = String(repeating: " ", count: max(0, item.1 - item.0.count))
            return index == 0 ? item.0 + space : space + item.0
        }.joined(separator: " ")
    }

    private func cells(_ row: RunRow) -> [String]? {
        switch row {
        case .start: limitCells(row, secondsUntilReady, "s", Self.secondsUntilReadyMax)
        case .idle: limitCells(row, idleMegabytes, "MB", Self.idleMegabytesMax)
        case .feedback, .feedbackAgain: feedbackCells(row)
        case .unchanged, .changed, .first, .takeover, .ownerChange, .logout, .topics, .post, .fetch, .healthz:
            rateCells(row)
        case .engine: nil
        }
    }

    private func limitCells(_ row: RunRow, _ value: Double?, _ unit: String, _ limit: Double) -> [String]? {
        guard let value else { return nil }
        let measured = "\(Self.number(value, value < 10 ? 3 : 0)) \(unit)"
        return [row.title, measured] + Array(repeating: "", count: 6)
            + [Self.number(value / limit, 2), "≤ \(limit.formatted()) \(unit)", Self.targetStatus(value <= limit)]
    }

    private func rateCells(_ row: RunRow) -> [String]? {
        guard let own = http[row]?.median else { return nil }
        let other = other(row)
        let ratio = other.map { own.perSecond / $0.perSecond }
        return [
            row.title, Self.number(own.perSecond), Self.number(own.medianMilliseconds, 2),
            Self.number(own.p99Milliseconds, 2), Self.number(own.serviceMicroseconds, 1),
            Self.number(own.postgresMicroseconds, 1), Self.number(other?.perSecond),
            Self.number(other?.postgresMicroseconds, 1), Self.number(ratio, 2),
            row.ratioMin.map { "≥ \($0.formatted())" } ?? "",
            row.ratioMin.flatMap { least in ratio.map { Self.targetStatus($0 >= least) } } ?? "",
        ]
    }

    private func feedbackCells(_ row: RunRow) -> [String]? {
        guard let own = http[row]?.median else { return nil }
        return [
            row.title, Self.number(own.perSecond), "", "", Self.number(own.serviceMicroseconds, 1),
            Self.number(own.postgresMicroseconds, 1), "", "", "", "≥ \(Int(RunRow.feedbackItemsPerSecondMin))",
            Self.targetStatus(own.perSecond >= RunRow.feedbackItemsPerSecondMin),
        ]
    }

    /// The conditions of the measurement, and results that are less reliable than they look.
    private var notes: [String] {
        let odd = http.flatMap { row, runs in
            runs.compactMap { run -> String? in
                if run.failures > 0 { return "\(row.title): \(run.failures) responses were errors" }
                guard row.ratioMin != nil || row.isFeedback, let share = run.expectedShare, share < 0.99 else {
                    return nil
                }
                return "\(row.title): only \(Self.number(share * 100, 1)) % of the responses were as expected"
            }
        }
        let settings = RunBenchmark.clusterSettings(options).sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
        return [
            "Medians of \(options.rounds) rounds of \(options.seconds) s; \(options.count) installations, "
                + "\(options.connections) HTTP connections, pgbench with \(PgBench.clients) clients, one PostgreSQL "
                + "for both: \(settings.joined(separator: " ")).",
            "The disk makes 8 KB durable in \(Self.number(flushMicroseconds)) µs, which is most of pgbench's wait; "
                + "\(options.flushDelayMicroseconds) µs were added to each flush of the WAL.",
            "Measured \(Date.now.formatted(.iso8601)) on \(ProcessInfo.processInfo.activeProcessorCount) cores, which "
                + "both sides and wrk, the load generator, share.",
            "The other side is pgbench; for takeovers, changes of owner, logouts and posts it is the service itself "
                + "with changed registrations, for fetches with unchanged ones. Feedback is counted in "
                + "items, \(RowRequests.feedbackItems) per call.",
            "CPU is user and system time per request: of the service's process, and of all of PostgreSQL's. The "
                + "service's access log was \(options.writesAccessLog ? "on" : "off"); the row of the engine alone "
                + "has none.",
        ] + odd.sorted()
    }

    private static func number(_ value: Double?, _ decimals: Int = 0) -> String {
        value.map { String(format: "%.\(decimals)f", $0) } ?? ""
    }

    private static func targetStatus(_ isReached: Bool) -> String { isReached ? "ok" : "missed" }
}
