import Foundation

/// A line of a table: the values of all rounds, what was measured for comparison in the same rounds, and the target.
struct Figure: Sendable {
    /// The target of a figure.
    enum Target: Sendable {
        case none
        case ratioMax(Double)
        case ratioMin(Double)
        case valueMax(Double)
        case valueMin(Double)
    }

    let title: String
    /// The unit of all values.
    let unit: String
    let otherName: String
    let target: Target
    private var values: [Double] = []
    private var others: [Double] = []

    init(title: String, unit: String, otherName: String, target: Target) {
        (self.title, self.unit, self.otherName, self.target) = (title, unit, otherName, target)
    }

    mutating func add(_ value: Double, _ other: Double?) {
        values.append(value)
        if let other { others.append(other) }
    }

    var value: Double? { values.median }
    var other: Double? { others.median }

    /// The median of the rounds' ratios: other work of the machine affects both sides of a round.
    var ratio: Double? {
        zip(values, others).filter { $1 > 0 }.map { $0 / $1 }.median
    }

    var targetText: String {
        switch target {
        case .none: ""
        case .ratioMax(let limit): "≤ \(limit.formatted())"
        case .ratioMin(let limit): "≥ \(limit.formatted())"
        case .valueMax(let limit): "≤ \(limit.formatted()) \(unit)"
        case .valueMin(let limit): "≥ \(limit.formatted()) \(unit)"
        }
    }

    /// Nil if there is no target or no value.
    var isReached: Bool? {
        switch target {
        case .none: nil
        case .ratioMax(let limit): ratio.map { $0 <= limit }
        case .ratioMin(let limit): ratio.map { $0 >= limit }
        case .valueMax(let limit): value.map { $0 <= limit }
        case .valueMin(let limit): value.map { $0 >= limit }
        }
    }
}

/// Figures as text, one line each.
struct FigureTable {
    private static let header = ["", "push-registry", "compared with", "", "ratio", "target", ""]

    private let title: String
    private let figures: [Figure]

    /// - Parameter report: its title is that of the first column.
    init(_ report: BenchmarkReport) {
        (title, figures) = (report.title, report.figures)
    }

    /// Ends with a line break.
    var text: String {
        let lines = [[title] + Self.header.dropFirst()] + figures.map(Self.cells)
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { Self.line($0, widths) }.joined(separator: "\n") + "\n"
    }

    private static func cells(_ figure: Figure) -> [String] {
        [
            figure.title, [number(figure.value), figure.unit].joined(separator: " "),
            figure.other == nil ? "" : figure.otherName, number(figure.other),
            figure.ratio.map { String(format: "%.2f", $0) } ?? "", figure.targetText,
            figure.isReached.map { $0 ? "ok" : "missed" } ?? "",
        ]
    }

    /// Aligns the first column left and all others right.
    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        zip(cells, widths).enumerated().map { column, item in
            let space = String(repeating: " ", count: item.1 - item.0.count)
            return column == 0 ? item.0 + space : space + item.0
        }.joined(separator: "  ").replacing(#/\s+$/#, with: "")
    }

    /// Three significant digits; more above a thousand.
    private static func number(_ value: Double?) -> String {
        guard let value else { return "" }
        let decimals = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0
        return String(format: "%.\(decimals)f", value)
    }
}
