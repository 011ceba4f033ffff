import PostgresClient
import PushRegistry

/// The night job's removal of choices about deleted topics (fine print 87). Until then, readers ignore these choices.
///
/// It reads tables in their physical order and writes by key. It leaves rows that another transaction changes meanwhile
/// to the next night, together with the numbers of their topics.
struct DeletedTopics {
    let session: PostgresSession
    let nodes: CleanUpNodes

    private static let pagesPerRead: Int64 = 4_096
    private static let batch = 1_000

    private struct App {
        let number: Int32
        /// The codes of all choices about the app's deleted topics.
        let codes: [Int32]
    }

    func remove() throws {
        let apps = try session.execute(PostgresStatement(DeletedTopicStatements.all)).map { row in
            let numbers = try row.decode(1, as: [Int32].self)
            return App(number: try row.decode(0), codes: numbers + numbers.map { -$0 })
        }
        guard !apps.isEmpty else { return }
        var isComplete = try remove(from: "user_guard", of: apps, DeletedTopicStatements.readUsers) { app, keys in
            PostgresStatement(DeletedTopicStatements.removeFromUsers, app.number, keys.map(\.key), app.codes)
        }
        isComplete =
            try remove(from: "installation", of: apps, DeletedTopicStatements.readInstallations) { app, keys in
                PostgresStatement(
                    DeletedTopicStatements.removeFromInstallations, app.number, keys.map(\.key),
                    keys.map(\.revision), app.codes)
            } && isComplete
        for app in apps where isComplete {
            _ = try session.execute(
                PostgresStatement(DeletedTopicStatements.removeFromChanges, app.number, app.codes))
            _ = try session.execute(PostgresStatement(DeletedTopicStatements.forget, app.number, app.codes))
        }
    }

    /// - Returns: whether all rows were written.
    private func remove(
        from table: String, of apps: [App], _ read: (PageRange, PostgresSQL) -> PostgresStatement,
        _ write: (App, [(key: String, revision: Int64)]) -> PostgresStatement
    ) throws -> Bool {
        let bounds = DeletedTopicStatements.apps(apps.map(\.number), apps.map(\.codes))
        var isComplete = true
        for range in try PageRange.all(of: table, by: Self.pagesPerRead, session, nodes) {
            let found = try nodes.with(range.apps) {
                try session.execute(read(range, bounds).unprepared()).map { row in
                    (
                        app: try row.decode(0, as: Int32.self), key: try row.decode(1, as: String.self),
                        revision: try row.decode(2, as: Int64.self)
                    )
                }
            }
            guard let rows = found else {
                isComplete = false
                continue
            }
            for app in apps {
                let keys = rows.filter { $0.app == app.number }.map { (key: $0.key, revision: $0.revision) }
                    .sorted { $0.key < $1.key }
                for start in stride(from: 0, to: keys.count, by: Self.batch) {
                    let batch = Array(keys[start..<min(start + Self.batch, keys.count)])
                    let written = try nodes.with([AppNumber(app.number)]) {
                        try session.execute(write(app, batch))[0].decode(0, as: Int.self)
                    }
                    isComplete = isComplete && written == batch.count
                    try session.checkCancellation()
                }
            }
        }
        return isComplete
    }
}
