import PostgresClient
import PushRegistry

/// What `CleanUpStatements.read` finds on some pages, for one app and step.
struct DueInstallations {
    /// A row as it was read. The place is its `ctid`: PostgreSQL finds the row there without an index. An update moves
    /// the row, and raises its revision. The cell is the one of the roll-up that counts the installation.
    typealias Key = (installID: String, revision: Int64, place: String, cell: Int64)

    let app: AppNumber
    /// Nil: no step is due.
    let step: CleanUpStep?
    let count: Int
    /// Those of them that are active or suspect.
    let activeCount: Int
    /// Empty if keys were not wanted or no step is due.
    let keys: [Key]

    /// - Parameter withKeys: false to count only.
    static func read(
        _ range: PageRange, _ bounds: PostgresSQL, withKeys: Bool, _ session: PostgresSession
    ) throws -> [DueInstallations] {
        try session.execute(CleanUpStatements.read(range, bounds, withKeys: withKeys).unprepared()).map(Self.init)
    }

    /// Those on which a run has taken a step that can be undone, and that have not changed since. The time identifies
    /// the run.
    static func ofRun(
        _ range: PageRange, from start: PostgresTimestamp, to end: PostgresTimestamp, _ session: PostgresSession
    ) throws -> [DueInstallations] {
        try session.execute(CleanUpStatements.readJudged(range, from: start, to: end).unprepared()).map(Self.init)
    }
}

extension DueInstallations {
    fileprivate init(_ row: PostgresRow) throws {
        app = AppNumber(try row.decode(0))
        step = try row.decode(1, as: String?.self).flatMap(CleanUpStep.init)
        (count, activeCount) = (try row.decode(2), try row.decode(3))
        let ids = try row.decode(4, as: [String]?.self) ?? []
        let revisions = try row.decode(5, as: [Int64]?.self) ?? []
        let places = try row.decode(6, as: [String]?.self) ?? []
        let cells = try row.decode(7, as: [Int64]?.self) ?? []
        keys = ids.indices.map { (ids[$0], revisions[$0], places[$0], cells[$0]) }
    }
}

/// Due installations of several ranges of pages, by app and step.
struct DueBatches {
    private struct Work: Hashable {
        let app: AppNumber
        let step: CleanUpStep
    }

    private var keys: [Work: [DueInstallations.Key]] = [:]
    private(set) var count = 0

    mutating func add(_ found: [DueInstallations]) {
        for due in found {
            guard let step = due.step else { continue }
            keys[Work(app: due.app, step: step), default: []] += due.keys
            count += due.keys.count
        }
    }

    /// In the order of the roll-up's cells. So a batch changes the counts of few cells, and there are fewer deltas to
    /// fold.
    var byCell: [(app: AppNumber, step: CleanUpStep, keys: [DueInstallations.Key])] {
        keys.sorted { ($0.key.app.rawValue, $0.key.step.rawValue) < ($1.key.app.rawValue, $1.key.step.rawValue) }
            .map { ($0.app, $0.step, $1.sorted { $0.cell < $1.cell }) }
    }
}
