import PostgresClient
import PushRegistry

/// What `CleanUpStatements.read` finds on some pages, for one app and step.
struct DueInstallations {
    /// A row as it was read. The place is its `ctid`: PostgreSQL finds the row there without an index. An update moves
    /// the row, and raises its revision.
    typealias Key = (installID: String, revision: Int64, place: String)

    let app: AppNumber
    /// Nil: no step is due.
    let step: CleanUpStep?
    let count: Int
    /// Those of them that are active or suspect.
    let activeCount: Int
    /// Sorted by id: the order in which installations are locked. Empty if keys were not wanted or no step is due.
    let keys: [Key]

    private init(_ row: PostgresRow) throws {
        app = AppNumber(try row.decode(0))
        step = try row.decode(1, as: String?.self).flatMap(CleanUpStep.init)
        (count, activeCount) = (try row.decode(2), try row.decode(3))
        let ids = try row.decode(4, as: [String]?.self) ?? []
        let revisions = try row.decode(5, as: [Int64]?.self) ?? []
        let places = try row.decode(6, as: [String]?.self) ?? []
        keys = zip(ids, zip(revisions, places)).map { ($0, $1.0, $1.1) }.sorted { $0.installID < $1.installID }
    }

    /// - Parameter withKeys: false to count only.
    static func read(
        _ range: PageRange, _ bounds: PostgresSQL, withKeys: Bool, _ session: PostgresSession
    ) throws -> [DueInstallations] {
        try session.execute(CleanUpStatements.read(range, bounds, withKeys: withKeys).unprepared()).map(Self.init)
    }

    /// Those that are due, as what the night job writes.
    var batch: CleanUpWork.Batch? { step.map { CleanUpWork.Batch(app: app, step: $0, rows: keys) } }
}
