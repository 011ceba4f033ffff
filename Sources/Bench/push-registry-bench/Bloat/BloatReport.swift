import Foundation

/// The size of the database before and after.
struct BloatReport: BenchmarkReport {
    /// Megabytes.
    struct Sizes: Codable, Sendable {
        let installations: Double
        let indexes: Double
        let rollUp: Double
        let history: Double
        let database: Double
    }

    private static let growthMax = 2.0

    let count: Int
    let times: Int
    let before: Sizes
    let after: Sizes
    /// The share of the registrations that were heap-only updates.
    let heapOnlyShare: Double

    var figures: [Figure] {
        [
            figure("installations, the table", \.installations, .ratioMax(Self.growthMax)),
            figure("installations, their indexes", \.indexes, .ratioMax(Self.growthMax)),
            figure("the roll-up", \.rollUp, .none), figure("history", \.history, .none),
            figure("the whole database", \.database, .none),
        ]
    }

    private func figure(_ title: String, _ size: KeyPath<Sizes, Double>, _ target: Figure.Target) -> Figure {
        Figure(
            title: title, unit: "MB", value: after[keyPath: size], otherName: "before", other: before[keyPath: size],
            target: target)
    }

    var text: String {
        let title = "\(count) installations that registered \(times) times"
        let share = (heapOnlyShare * 100).formatted(.number.precision(.fractionLength(1)))
        return FigureTable(title: title, figures: figures).text
            + "\n\(share) % of the registrations were heap-only updates, which touch no index; autovacuum as by "
            + "default.\n"
    }
}
