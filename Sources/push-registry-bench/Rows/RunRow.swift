import ArgumentParser

/// What is measured.
enum Row: String, CaseIterable, ExpressibleByArgument, Codable, CodingKeyRepresentable, Sendable {
    case unchanged, changed, first, takeover, ownerChange, logout, feedback, feedbackAgain, healthz, start, idle, engine

    var title: String {
        switch self {
        case .unchanged: "unchanged registration"
        case .changed: "changed registration (new settings)"
        case .first: "first registration"
        case .takeover: "takeover of a token"
        case .ownerChange: "change of an installation's owner"
        case .logout: "logout"
        case .feedback: "feedback, items that change"
        case .feedbackAgain: "feedback, items that are known"
        case .healthz: "GET /healthz"
        case .start: "start until ready"
        case .idle: "memory, idle connections"
        case .engine: "the HTTP engine alone"
        }
    }

    /// How often as many requests a second as the other side the service is to carry: pgbench, or itself with changed
    /// registrations.
    var ratioMin: Double? {
        switch self {
        case .unchanged: 4
        case .changed: 2
        case .first: 1.5
        case .takeover, .ownerChange, .logout: 0.8
        case .feedback, .feedbackAgain, .healthz, .start, .idle, .engine: nil
        }
    }

    /// Items a second that feedback is to come to, whatever else the machine can do.
    static let feedbackItemsPerSecondMin = 50_000.0

    var isFeedback: Bool { self == .feedback || self == .feedbackAgain }

    /// Whether changed registrations are the other side.
    var isHeldToChanged: Bool { self == .takeover || self == .ownerChange || self == .logout }
}

/// Rows as they are named on the command line: `--rows takeover logout`, or `--rows takeover,logout`.
struct RowList: ExpressibleByArgument, CustomStringConvertible {
    let rows: [Row]

    static let all = RowList(rows: Row.allCases)
    static let allValueStrings = Row.allCases.map(\.rawValue)

    init(rows: [Row]) {
        self.rows = rows
    }

    init?(argument: String) {
        let names = argument.split(separator: ",")
        rows = names.compactMap { Row(rawValue: String($0)) }
        guard rows.count == names.count else { return nil }
    }

    var description: String { rows.map(\.rawValue).joined(separator: ",") }
}
