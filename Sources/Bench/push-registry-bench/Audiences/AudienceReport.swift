import Foundation

/// The times of the queries, by fleet.
struct AudienceReport: BenchmarkReport {
    struct Timing: Codable, Sendable {
        let title: String
        /// The number of the roll-up's dimensions in filter and breakdown.
        let dimensions: Int
        let hasTopic: Bool
        /// Ascending.
        let milliseconds: [Double]
        /// PostgreSQL's CPU time for one run.
        let cpuMilliseconds: Double
        /// The time of count(*) on the best index.
        let baseline: Double

        var median: Double { milliseconds[milliseconds.count / 2] }
        var p99: Double { milliseconds[min(milliseconds.count - 1, milliseconds.count * 99 / 100)] }
        var isSmall: Bool { dimensions <= 2 && !hasTopic }
        var medianMax: Double {
            if hasTopic { return AudienceReport.topicMedianMax }
            return isSmall ? AudienceReport.smallMedianMax : AudienceReport.largeMedianMax
        }
    }

    /// Limits in milliseconds, for one or two dimensions and for more.
    fileprivate static let smallMedianMax = 5.0
    fileprivate static let largeMedianMax = 20.0
    /// The limit of counts with a topic that a tenth of the installations has left.
    fileprivate static let topicMedianMax = 100.0
    /// The limit of the ratio of the largest fleet's median to the smallest fleet's, for one or two dimensions.
    private static let growthMax = 1.2
    private static let gainMin = 20.0

    let counts: [Int]
    let times: Int
    /// The number of cells of the cube.
    var cells: [Int] = []
    /// By fleet, in the order of the queries.
    var timings: [[Timing]] = []

    init(counts: [Int], times: Int) {
        self.counts = counts
        self.times = times
    }

    /// The worst query in each respect, at the largest fleet.
    var figures: [Figure] {
        [
            slowest("one or two dimensions, slowest", timings.last?.filter(\.isSmall), Self.smallMedianMax),
            slowest(
                "three dimensions, slowest", timings.last?.filter { !$0.isSmall && !$0.hasTopic }, Self.largeMedianMax),
            slowest("with a topic, slowest", timings.last?.filter(\.hasTopic), Self.topicMedianMax), growth, gain,
        ].compactMap(\.self)
    }

    private func slowest(_ title: String, _ timings: [Timing]?, _ limit: Double) -> Figure? {
        timings?.max { $0.median < $1.median }.map { timing in
            Figure(title: "\(title): \(timing.title)", unit: "ms", value: timing.median, target: .valueMax(limit))
        }
    }

    private var growth: Figure? {
        guard let first = timings.first, let last = timings.last, counts.count > 1 else { return nil }
        let pairs = zip(last, first).filter { $0.0.isSmall }
        return pairs.max { $0.0.median / $0.1.median < $1.0.median / $1.1.median }.map { large, small in
            Figure(
                title: "one or two dimensions, largest growth: \(large.title)", unit: "ms", value: large.median,
                otherName: "\(counts[0]) installations", other: small.median, target: .ratioMax(Self.growthMax))
        }
    }

    private var gain: Figure? {
        timings.last?.filter { !$0.hasTopic }.min { $0.baseline / $0.median < $1.baseline / $1.median }.map { timing in
            Figure(
                title: "smallest gain on count(*) with the best index: \(timing.title)", unit: "ms",
                value: timing.median, otherName: "count(*)", other: timing.baseline,
                target: .ratioMax(1 / Self.gainMin))
        }
    }

    var text: String {
        let header = Self.line([
            "query", "fleet", "p50 ms", "p99 ms", "CPU ms", "at most", "count(*) ms", "faster", "growth",
        ])
        let lines = zip(counts, timings).flatMap { size, timings in
            zip(timings, self.timings[0]).map { timing, first in Self.line(cells(timing, first, size)) }
        }
        let cubes = zip(cells, counts).map { "\($0) cells at \($1)" }.joined(separator: ", ")
        return FigureTable(title: "audiences of \(counts.last ?? 0) installations", figures: figures).text + "\n"
            + ([header] + lines).joined(separator: "\n")
            + "\n\nEach query ran \(times) times, sequentially; CPU is PostgreSQL's. \(cubes).\n"
    }

    private func cells(_ timing: Timing, _ first: Timing, _ size: Int) -> [String] {
        [
            timing.title, "\(size)", Self.number(timing.median), Self.number(timing.p99),
            Self.number(timing.cpuMilliseconds),
            Self.number(timing.medianMax), Self.number(timing.baseline), Self.number(timing.baseline / timing.median),
            Self.number(timing.median / first.median),
        ]
    }

    private static func line(_ cells: [String]) -> String {
        let widths = [46, 9, 8, 8, 8, 8, 12, 8, 8]
        return zip(cells, widths).enumerated().map { index, item in
            let space = String(repeating: " ", count: max(0, item.1 - item.0.count))
            return index == 0 ? item.0 + space : space + item.0
        }.joined(separator: " ")
    }

    private static func number(_ value: Double) -> String { String(format: "%.2f", value) }
}
