import Foundation

/// The figures of each round.
struct CleanUpBenchmarkReport: BenchmarkReport {
    private static let timeRatioMax = 1.5
    private static let latencyRatioMax = 2.0

    let installations: Int
    let connections: Int
    /// Seconds.
    var bare: [Double] = []
    var job: [Double] = []
    /// CPU seconds of PostgreSQL.
    var bareCPU: [Double] = []
    var jobCPU: [Double] = []
    /// The 99th percentile of registrations in milliseconds, without the clean-up and during it.
    var alone: [Double] = []
    var beside: [Double] = []
    /// The time of the clean-up during registrations.
    var jobBeside: [Double] = []

    var figures: [Figure] {
        [
            Figure(
                title: "clean-up of \(installations / 10)", unit: "s", value: job.median, otherName: "bare SQL",
                other: bare.median, target: .ratioMax(Self.timeRatioMax)),
            Figure(
                title: "clean-up of \(installations / 10): PostgreSQL's CPU", unit: "s", value: jobCPU.median,
                otherName: "bare SQL", other: bareCPU.median),
            Figure(
                title: "registrations' p99 meanwhile", unit: "ms", value: beside.median, otherName: "without",
                other: alone.median, target: .ratioMax(Self.latencyRatioMax)),
        ]
    }

    var text: String {
        let table = FigureTable(title: "a tenth of \(installations) becomes stale", figures: figures).text
        return """
            \(table)
            Medians of \(job.count) rounds. Registrations use \(connections) connections, and 19 of 20 of them \
            change nothing; during them the clean-up took \(String(format: "%.1f", jobBeside.median ?? 0)) s.

            """
    }
}
