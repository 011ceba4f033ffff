import Foundation

/// What the questions took, by fleet.
struct AudienceReport: Sendable {
    struct Answer: Sendable {
        let question: AudienceQuestion
        /// Ascending.
        let milliseconds: [Double]
        /// count(*) on the best index.
        let rival: Double

        var median: Double { milliseconds[milliseconds.count / 2] }
        var p99: Double { milliseconds[min(milliseconds.count - 1, milliseconds.count * 99 / 100)] }
    }

    let counts: [Int]
    let times: Int
    /// Of the cube.
    var cells: [Int] = []
    var answers: [[Answer]] = []
    var triggers: TriggerCost.Result?

    init(counts: [Int], times: Int) {
        self.counts = counts
        self.times = times
    }

    var text: String {
        var lines = [
            Self.line(["question", "fleet", "p50 ms", "p99 ms", "at most", "count(*) ms", "faster", "growth"])
        ]
        for (size, answers) in zip(counts, answers) {
            for (index, answer) in answers.enumerated() {
                let first = self.answers[0][index].median
                lines.append(
                    Self.line([
                        answer.question.title, "\(size)", Self.number(answer.median), Self.number(answer.p99),
                        Self.number(answer.question.medianMax), Self.number(answer.rival),
                        Self.number(answer.rival / answer.median), Self.number(answer.median / first),
                    ]))
            }
        }
        return (lines + [""] + notes).joined(separator: "\n")
    }

    private var notes: [String] {
        var notes = [
            "Each question \(times) times, one after the other; \(zip(cells, counts).map { "\($0) cells at \($1)" }.joined(separator: ", "))."
        ]
        if let triggers {
            notes.append(
                "New settings of 100 installations: \(Self.number(triggers.with)) ms with the triggers, "
                    + "\(Self.number(triggers.without)) without: \(Self.number(triggers.with / triggers.without)) (at most 1.15)."
            )
        }
        return notes
    }

    private static func line(_ cells: [String]) -> String {
        let widths = [44, 9, 8, 8, 8, 12, 8, 8]
        return zip(cells, widths).enumerated().map { index, item in
            let space = String(repeating: " ", count: max(0, item.1 - item.0.count))
            return index == 0 ? item.0 + space : space + item.0
        }.joined(separator: " ")
    }

    private static func number(_ value: Double) -> String { String(format: "%.2f", value) }
}
