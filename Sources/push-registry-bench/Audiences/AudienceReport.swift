import Foundation

/// What the questions took, by fleet.
struct AudienceReport: BenchmarkReport {
    struct Answer: Codable, Sendable {
        let title: String
        /// Of the roll-up, by filter and breakdown.
        let dimensions: Int
        /// Ascending.
        let milliseconds: [Double]
        /// PostgreSQL's, of one time.
        let cpuMilliseconds: Double
        /// count(*) on the best index.
        let rival: Double

        var median: Double { milliseconds[milliseconds.count / 2] }
        var p99: Double { milliseconds[min(milliseconds.count - 1, milliseconds.count * 99 / 100)] }
        var isSmall: Bool { dimensions <= 2 }
        var medianMax: Double { isSmall ? AudienceReport.smallMedianMax : AudienceReport.largeMedianMax }
    }

    /// Milliseconds, of one or two dimensions and of more.
    fileprivate static let smallMedianMax = 5.0
    fileprivate static let largeMedianMax = 20.0
    /// The median at the largest fleet by that at the smallest, of one or two dimensions.
    private static let growthMax = 1.2
    private static let gainMin = 20.0

    let counts: [Int]
    let times: Int
    /// Of the cube.
    var cells: [Int] = []
    /// By fleet, in the order of the questions.
    var answers: [[Answer]] = []

    init(counts: [Int], times: Int) {
        self.counts = counts
        self.times = times
    }

    /// Of the questions the one that is the worst in each respect, at the largest fleet.
    var figures: [Figure] {
        [
            slowest("one or two dimensions, slowest", answers.last?.filter(\.isSmall), Self.smallMedianMax),
            slowest("three dimensions, slowest", answers.last?.filter { !$0.isSmall }, Self.largeMedianMax), growth,
            gain,
        ].compactMap(\.self)
    }

    private func slowest(_ title: String, _ answers: [Answer]?, _ limit: Double) -> Figure? {
        answers?.max { $0.median < $1.median }.map { answer in
            Figure(title: "\(title): \(answer.title)", unit: "ms", value: answer.median, target: .valueMax(limit))
        }
    }

    private var growth: Figure? {
        guard let first = answers.first, let last = answers.last, counts.count > 1 else { return nil }
        let pairs = zip(last, first).filter { $0.0.isSmall }
        return pairs.max { $0.0.median / $0.1.median < $1.0.median / $1.1.median }.map { large, small in
            Figure(
                title: "one or two dimensions, largest growth: \(large.title)", unit: "ms", value: large.median,
                otherName: "\(counts[0]) installations", other: small.median, target: .ratioMax(Self.growthMax))
        }
    }

    private var gain: Figure? {
        answers.last?.min { $0.rival / $0.median < $1.rival / $1.median }.map { answer in
            Figure(
                title: "smallest gain on count(*) with the best index: \(answer.title)", unit: "ms",
                value: answer.median, otherName: "count(*)", other: answer.rival,
                target: .ratioMax(1 / Self.gainMin))
        }
    }

    var text: String {
        let header = Self.line([
            "question", "fleet", "p50 ms", "p99 ms", "CPU ms", "at most", "count(*) ms", "faster", "growth",
        ])
        let lines = zip(counts, answers).flatMap { size, answers in
            zip(answers, self.answers[0]).map { answer, first in Self.line(cells(answer, first, size)) }
        }
        let cubes = zip(cells, counts).map { "\($0) cells at \($1)" }.joined(separator: ", ")
        return FigureTable(title: "audiences of \(counts.last ?? 0) installations", figures: figures).text + "\n"
            + ([header] + lines).joined(separator: "\n")
            + "\n\nEach question \(times) times, one after the other; CPU is PostgreSQL's. \(cubes).\n"
    }

    private func cells(_ answer: Answer, _ first: Answer, _ size: Int) -> [String] {
        [
            answer.title, "\(size)", Self.number(answer.median), Self.number(answer.p99),
            Self.number(answer.cpuMilliseconds),
            Self.number(answer.medianMax), Self.number(answer.rival), Self.number(answer.rival / answer.median),
            Self.number(answer.median / first.median),
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
