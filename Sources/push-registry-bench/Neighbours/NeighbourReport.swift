/// The 99th percentile of registrations' latency in milliseconds, for each round.
struct NeighbourReport: BenchmarkReport {
    private static let ratioMax = 2.0

    let connections: Int
    var alone: [Double] = []
    var beside: [Contention: [Double]] = [:]

    var figures: [Figure] {
        Contention.allCases.map { contention in
            Figure(
                title: "registrations' p99 during \(contention.title)", unit: "ms", value: beside[contention]?.median,
                otherName: "alone", other: alone.median, target: .ratioMax(Self.ratioMax))
        }
    }

    var text: String {
        let table = FigureTable(title: "clients that contend for locks", figures: figures).text
        return """
            \(table)
            Medians of \(alone.count) rounds. Registrations use \(connections) connections; the load, the contending \
            clients, the service and PostgreSQL share the machine's cores.

            """
    }
}

/// What contends for locks during the measured registrations.
enum Contention: String, CaseIterable, Codable, CodingKeyRepresentable {
    /// Clients that register the same installation.
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
