import Foundation

/// A line of a table: a value, the value that was measured for comparison in the same run, and the target.
struct Figure: Codable, Sendable {
    /// The target of a figure.
    enum Target: Codable, Sendable {
        case none
        case ratioMax(Double)
        case ratioMin(Double)
        case valueMax(Double)
        case valueMin(Double)
    }

    let title: String
    /// The unit of both values.
    let unit: String
    let value: Double?
    var otherName = ""
    var other: Double?
    var target = Target.none

    var ratio: Double? {
        guard let value, let other, other > 0 else { return nil }
        return value / other
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

    /// The title of the first column.
    let title: String
    let figures: [Figure]

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
