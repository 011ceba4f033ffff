/// What one of a hundred registrations took or more, in milliseconds; of each round.
struct NeighbourReport: BenchmarkReport {
    private static let ratioMax = 2.0

    let connections: Int
    var alone: [Double] = []
    var beside: [Trouble: [Double]] = [:]

    var figures: [Figure] {
        Trouble.allCases.map { trouble in
            Figure(
                title: "registrations' p99 beside \(trouble.title)", unit: "ms", value: beside[trouble]?.median,
                otherName: "alone", other: alone.median, target: .ratioMax(Self.ratioMax))
        }
    }

    var text: String {
        let table = FigureTable(title: "clients in each other's way", figures: figures).text
        return """
            \(table)
            Medians of \(alone.count) rounds. Registrations come over \(connections) connections; the load, the \
            troubles' clients, the service and PostgreSQL share the machine's cores.

            """
    }
}

/// What happens beside the measured registrations.
enum Trouble: String, CaseIterable, Codable, CodingKeyRepresentable {
    /// Clients that register one installation.
    case crowd
    /// Clients that register an installation whose row another session has locked.
    case lockedRow
    /// Erasures of users whose installations another session has locked.
    case erasures

    var title: String {
        switch self {
        case .crowd: "1,000 clients of one installation"
        case .lockedRow: "a locked installation"
        case .erasures: "six erasures that wait"
        }
    }
}
