/// A table with padded columns. The last column contains numbers and is right-aligned.
struct TextTable {
    let header: [String]
    let rows: [[String]]

    var text: String {
        let lines = [header] + rows
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line(of: $0, widths) }.joined(separator: "\n")
    }

    private func line(of cells: [String], _ widths: [Int]) -> String {
        cells.indices.map { column in
            let space = String(repeating: " ", count: widths[column] - cells[column].count)
            return column == cells.count - 1 ? space + cells[column] : cells[column] + space
        }.joined(separator: "  ")
    }
}
