import Foundation

/// The figures of each round.
struct ExportReport: BenchmarkReport {
    private static let ratioMin = 0.7

    /// Rows a second.
    struct Round: Codable {
        let copiedPerSecond: Double
        let exportedPerSecond: Double
        /// CPU time of the service for each row.
        let serviceMicroseconds: Double

        var text: String {
            "\(Int(exportedPerSecond)) rows a second, \\copy \(Int(copiedPerSecond))"
        }
    }

    struct Registrations: Codable {
        let perSecond: Double
        let p99Milliseconds: Double
    }

    let count: Int
    /// By format.
    var rounds: [String: [Round]] = [:]
    /// Resident memory of the service before the first export, and its peak until the end of the last one.
    let megabytesBefore: Double
    var megabytesHighest: Double?
    var alone: [Registrations] = []
    var meanwhile: [Registrations] = []

    init(count: Int, megabytesBefore: Double) {
        self.count = count
        self.megabytesBefore = megabytesBefore
    }

    var figures: [Figure] {
        rounds.sorted { $0.key > $1.key }.map { format, rounds in
            Figure(
                title: "export, \(format)", unit: "rows/s", value: rounds.map(\.exportedPerSecond).median,
                otherName: "\\copy", other: rounds.map(\.copiedPerSecond).median, target: .ratioMin(Self.ratioMin))
        } + [
            Figure(
                title: "export, memory at its highest", unit: "MB", value: megabytesHighest, otherName: "before",
                other: megabytesBefore),
            Figure(
                title: "registrations while an export runs", unit: "a second", value: meanwhile.map(\.perSecond).median,
                otherName: "alone", other: alone.map(\.perSecond).median),
            Figure(
                title: "registrations while an export runs, p99", unit: "ms",
                value: meanwhile.map(\.p99Milliseconds).median, otherName: "alone",
                other: alone.map(\.p99Milliseconds).median),
        ]
    }

    var text: String {
        let cpu = rounds.sorted { $0.key > $1.key }.map { format, rounds in
            String(format: "\(format) %.2f µs", rounds.map(\.serviceMicroseconds).median ?? 0)
        }
        return FigureTable(title: "export of \(count) installations", figures: figures).text + """

            Active installations of a fleet, with all columns for sending, ordered by id. CPU time of the service for \
            each row: \(cpu.joined(separator: ", ")). About half of the registrations change settings.

            """
    }
}
