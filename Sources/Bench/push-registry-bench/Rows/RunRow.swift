import ArgumentParser

/// The rows that can be measured.
enum RunRow: String, CaseIterable, ExpressibleByArgument, Codable, CodingKeyRepresentable, Sendable {
    case unchanged, changed, first, takeover, ownerChange, logout, topics, post, fetch, feedback, feedbackAgain
    case healthz, start, idle
    case engine

    var title: String {
        switch self {
        case .unchanged: "unchanged registration"
        case .changed: "changed registration (new settings)"
        case .first: "first registration"
        case .takeover: "takeover of a token"
        case .ownerChange: "change of an installation's owner"
        case .logout: "logout"
        case .topics: "PATCH of an installation's topics"
        case .post: "post of a notification to one phone"
        case .fetch: "fetch, nothing missed"
        case .feedback: "feedback, items that change"
        case .feedbackAgain: "feedback, items that are known"
        case .healthz: "GET /healthz"
        case .start: "start until ready"
        case .idle: "memory, idle connections"
        case .engine: "the HTTP engine alone"
        }
    }

    /// The target ratio of the service's requests per second to the other side's: pgbench's, or its own with changed or
    /// unchanged registrations.
    var ratioMin: Double? {
        switch self {
        case .unchanged: 4
        case .changed: 2
        case .first: 1.5
        case .takeover, .ownerChange, .logout, .post: 0.8
        // At most 1.3 times the cost.
        case .topics: 1 / 1.3
        // 1.2 times the cost of an unchanged registration.
        case .fetch: 0.83
        case .feedback, .feedbackAgain, .healthz, .start, .idle, .engine: nil
        }
    }

    /// The target of feedback in items per second, on any machine.
    static let feedbackItemsPerSecondMin = 50_000.0

    var isFeedback: Bool { self == .feedback || self == .feedbackAgain }

    /// Whether the other side is changed registrations.
    var isComparedToChanged: Bool { [.takeover, .ownerChange, .logout, .topics, .post].contains(self) }

    /// Whether the other side is unchanged registrations.
    var isComparedToUnchanged: Bool { self == .fetch }
}

/// Rows on the command line: `--rows takeover logout`, or `--rows takeover,logout`.
struct RowList: ExpressibleByArgument, CustomStringConvertible {
    let rows: [RunRow]

    static let all = RowList(rows: RunRow.allCases)
    static let allValueStrings = RunRow.allCases.map(\.rawValue)

    init(rows: [RunRow]) {
        self.rows = rows
    }

    init?(argument: String) {
        let names = argument.split(separator: ",")
        rows = names.compactMap { RunRow(rawValue: String($0)) }
        guard rows.count == names.count else { return nil }
    }

    var description: String { rows.map(\.rawValue).joined(separator: ",") }
}
