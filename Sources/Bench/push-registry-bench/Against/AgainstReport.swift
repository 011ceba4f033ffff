import Foundation

/// The results of comparing two binaries, round by round.
struct AgainstReport: BenchmarkReport {
    /// One row of one round, on both sides.
    struct Pair: Codable, Sendable {
        let own: Measurement
        let other: Measurement
    }

    let options: AgainstOptions
    private(set) var rows: [ComparedRow: [Pair]] = [:]

    init(options: AgainstOptions) {
        self.options = options
    }

    mutating func add(own: Measurement, other: Measurement, to row: ComparedRow) {
        rows[row, default: []].append(Pair(own: own, other: other))
    }

    var figures: [Figure] {
        options.rows.flatMap { row in
            [
                figure(row, "", "a second", \.perSecond), figure(row, ": service CPU", "µs", \.serviceMicroseconds),
                figure(row, ": PostgreSQL CPU", "µs", \.postgresMicroseconds),
            ].compactMap(\.self)
        }
    }

    private func figure(
        _ row: ComparedRow, _ what: String, _ unit: String, _ value: (Measurement) -> Double?
    ) -> Figure? {
        guard let cells = Comparison(rows[row] ?? [], value) else { return nil }
        return Figure(
            title: row.title + what, unit: unit, value: cells.own, otherName: "the other binary", other: cells.other)
    }
}

/// The medians of both sides, and of the ratios of each round: other work of the machine affects both sides of a round.
private struct Comparison {
    let own: Double
    let other: Double
    let ratio: Double?

    init?(_ pairs: [AgainstReport.Pair], _ value: (Measurement) -> Double?) {
        let values = pairs.compactMap { pair in
            value(pair.own).flatMap { own in value(pair.other).map { (own: own, other: $0) } }
        }
        guard let own = values.map(\.own).median, let other = values.map(\.other).median else { return nil }
        (self.own, self.other) = (own, other)
        ratio = values.filter { $0.other > 0 }.map { $0.own / $0.other }.median
    }
}

// MARK: - Text

extension AgainstReport {
    private static let header = [
        "row", "access log", "this/s", "other/s", "ratio", "service CPU µs", "other", "ratio", "PostgreSQL CPU µs",
        "other", "ratio",
    ]

    /// One line per row: the rate, the service's CPU time and PostgreSQL's, of both sides and with the ratios.
    var text: String {
        let lines = [Self.header] + options.rows.compactMap(cells)
        let widths = Self.header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let table = lines.map { line in
            line.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - line[column].count)
                return column == 0 ? line[column] + space : space + line[column]
            }.joined(separator: "  ")
        }
        return (table + [""] + notes).joined(separator: "\n") + "\n"
    }

    private func cells(_ row: ComparedRow) -> [String]? {
        guard let rate = Comparison(rows[row] ?? [], \.perSecond) else { return nil }
        let service = Comparison(rows[row] ?? [], \.serviceMicroseconds)
        let postgres = Comparison(rows[row] ?? [], \.postgresMicroseconds)
        let log = row.isLogged ? (options.writesAccessLog ? "on" : "off") : "none"
        return [row.title, log] + Self.cells(rate, decimals: 0) + Self.cells(service, decimals: 1)
            + Self.cells(postgres, decimals: 1)
    }

    private static func cells(_ comparison: Comparison?, decimals: Int) -> [String] {
        let format = "%.\(decimals)f"
        return [
            comparison.map { String(format: format, $0.own) } ?? "",
            comparison.map { String(format: format, $0.other) } ?? "",
            comparison?.ratio.map { String(format: "%.2f", $0) } ?? "",
        ]
    }

    private var notes: [String] {
        let odd = rows.flatMap { row, pairs in
            pairs.flatMap { [("this", $0.own), ("the other", $0.other)] }.compactMap { name, run -> String? in
                if run.failures > 0 { return "\(row.title): \(run.failures) responses of \(name) were errors" }
                guard row != .healthz, let share = run.expectedShare, share < 0.99 else { return nil }
                let percent = String(format: "%.1f", share * 100)
                return "\(row.title): only \(percent) % of the responses of \(name) were as expected"
            }
        }
        return [
            "Medians of \(options.rounds) rounds of at most \(options.seconds) s, both sides in turn, and of the "
                + "ratios (this / other); \(options.count) installations each, "
                + "\(options.connections) HTTP connections.",
            "CPU is user and system time per request, item or line; PostgreSQL's is measured until it is idle.",
            "Measured \(Date.now.formatted(.iso8601)) on \(ProcessInfo.processInfo.activeProcessorCount) cores, which "
                + "wrk, the load generator, shares.",
        ] + odd.sorted()
    }
}
