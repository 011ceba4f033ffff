import ArgumentParser

/// The rows that can be measured.
enum RunRow: String, CaseIterable, ExpressibleByArgument, Sendable {
    case unchanged, changed, first, takeover, ownerChange, logout, topics, post, fetch, feedback, healthz, engine

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
        case .healthz: "GET /healthz"
        case .engine: "the HTTP engine alone"
        }
    }

    /// What a row is compared with: pgbench, or the service's own registrations.
    enum Other: String {
        case upserts, inserts, unchanged, changed

        var title: String { self == .upserts || self == .inserts ? "pgbench" : rawValue }
    }

    var other: Other? {
        switch self {
        case .unchanged, .changed: .upserts
        case .first: .inserts
        case .takeover, .ownerChange, .logout, .topics, .post: .changed
        case .fetch: .unchanged
        case .feedback, .healthz, .engine: nil
        }
    }

    /// Of the rate, or of the ratio of the rates.
    var target: Figure.Target {
        switch self {
        case .unchanged: .ratioMin(4)
        case .changed: .ratioMin(2)
        case .first: .ratioMin(1.5)
        case .takeover, .ownerChange, .logout, .post: .ratioMin(0.8)
        // At most 1.3 times the cost.
        case .topics: .ratioMin(1 / 1.3)
        // 1.2 times the cost of an unchanged registration.
        case .fetch: .ratioMin(0.83)
        // Items, on any machine.
        case .feedback: .valueMin(50_000)
        case .healthz, .engine: .none
        }
    }

    /// Whether another row must be measured before this one.
    func needs(_ row: RunRow) -> Bool { other?.rawValue == row.rawValue }
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

/// The options of a run.
struct RunOptions: Sendable {
    /// How long requests are sent before each measurement without being counted.
    static let warmUpSeconds = 1
    /// Long enough for all calls of feedback on a slow machine.
    static let feedbackSecondsMax = 1_800

    var rows = RunRow.allCases
    var count = 1_000_000
    var seconds = 10
    var rounds = 3
    var connections = 64
    var idleConnections = 10_000
    /// The most installations with requests created in advance, for each row: about 1.4 KB each, in a file.
    var poolMax = 200_000
    var seed: UInt64 = 1
    /// Whether the service logs each request.
    var writesAccessLog = true
    /// Added to each flush of the WAL.
    var flushDelayMicroseconds = 0

    /// The engine is measured without a database.
    var wantsDatabase: Bool { rows.contains { $0 != .engine } }

    func wants(_ row: RunRow) -> Bool { rows.contains(row) }
}
