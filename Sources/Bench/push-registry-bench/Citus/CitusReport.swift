import Foundation

/// Registrations on a Citus cluster and on one PostgreSQL, a measurement for each round.
struct CitusReport: BenchmarkReport {
    private static let ratioMin = 0.5

    private struct Line: Codable, Sendable {
        let row: CitusRow
        let apps: Int
        var citus: [Measurement] = []
        var alone: [Measurement] = []
    }

    let options: CitusOptions
    private var lines: [Line] = []

    init(options: CitusOptions) {
        self.options = options
    }

    mutating func add(_ row: CitusRow, apps: Int, citus: Measurement, alone: Measurement) {
        let index = lines.firstIndex { $0.row == row && $0.apps == apps } ?? lines.count
        if index == lines.count { lines.append(Line(row: row, apps: apps)) }
        lines[index].citus.append(citus)
        lines[index].alone.append(alone)
    }

    static func title(_ row: CitusRow, _ apps: Int) -> String {
        "\(row.rawValue) registration, \(apps == 1 ? "one app" : "\(apps) apps")"
    }

    var figures: [Figure] {
        lines.map { line in
            Figure(
                title: Self.title(line.row, line.apps), unit: "/s", value: line.citus.median?.perSecond,
                otherName: "one PostgreSQL", other: line.alone.median?.perSecond, target: .ratioMin(Self.ratioMin))
        }
    }

    var text: String {
        let table = FigureTable(title: "Citus", figures: figures).text
        return """
            \(table)
            \(lines.map(Self.details).joined(separator: "\n"))
            Medians of \(options.rounds) rounds of \(options.seconds) s; \(options.count) installations of each fleet; \
            \(options.connections) connections. The load, the service and all nodes share the machine's cores.

            """
    }

    /// CPU time and latency of the median rounds, and what went wrong.
    private static func details(_ line: Line) -> String {
        let sides = [("Citus", line.citus), ("alone", line.alone)].map { name, rounds in
            let round = rounds.median
            let failures = rounds.reduce(0) { $0 + $1.failures }
            let share = rounds.compactMap(\.expectedShare).min() ?? 0
            return String(
                format: "%@ p50 %.1f ms, p99 %.1f ms, CPU %.0f + %.0f µs, %d failures, %.1f %% as expected", name,
                round?.medianMilliseconds ?? 0, round?.p99Milliseconds ?? 0, round?.serviceMicroseconds ?? 0,
                round?.postgresMicroseconds ?? 0, failures, 100 * share)
        }
        return "\(title(line.row, line.apps)): \(sides.joined(separator: "; "))"
    }
}
