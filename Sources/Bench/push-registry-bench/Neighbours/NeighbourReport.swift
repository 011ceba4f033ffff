/// 99th percentiles of latencies in milliseconds, for each round.
struct NeighbourReport: BenchmarkReport {
    private static let ratioMax = 2.0
    private static let healthMillisecondsMax = 20.0

    let connections: Int
    /// Of registrations.
    var alone: [Double] = []
    var beside: [Contention: [Double]] = [:]
    /// Of `GET /healthz`, with one event loop.
    var health: [Double] = []
    var healthBesideFeedback: [Double] = []

    var figures: [Figure] {
        Contention.allCases.map { contention in
            Figure(
                title: "registrations' p99 during \(contention.title)", unit: "ms", value: beside[contention]?.median,
                otherName: "alone", other: alone.median, target: .ratioMax(Self.ratioMax))
        } + [
            Figure(
                title: "p99 of GET /healthz beside feedback, one event loop", unit: "ms",
                value: healthBesideFeedback.median, otherName: "alone", other: health.median,
                target: .valueMax(Self.healthMillisecondsMax))
        ]
    }

    var text: String {
        let table = FigureTable(title: "neighbours", figures: figures).text
        return """
            \(table)
            Medians of \(alone.count) rounds. Registrations and GET /healthz use \(connections) connections; a call of \
            feedback has up to \(RowRequests.feedbackItems) items. All clients, the service and PostgreSQL share the \
            machine's cores.

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
