import PostgresClient
import PushRegistry
import RegistryStore

/// The night job's removal of choices about deleted topics (fine print 87). Until then, readers ignore these choices.
///
/// It reads tables in their physical order and writes by key. If a row was skipped, because
/// another transaction changed it meanwhile, the topic's number is kept, and the next night tries again.
struct DeletedTopics {
    let session: PostgresSession
    let nodes: CleanUpNodes

    private static let pagesPerRead: Int64 = 4_096
    private static let batch = 1_000
    /// Fewer users: no registration of theirs can begin meanwhile, nor of others in their buckets.
    private static let usersMax = 16

    private struct App {
        let number: Int32
        /// The codes of all choices about the app's deleted topics.
        let codes: [Int32]
    }

    func remove() throws {
        let apps = try session.execute(DeletedTopicStatements.all()).map { row in
            let numbers = try row.decode(1, as: [Int32].self)
            return App(number: try row.decode(0), codes: numbers + numbers.map { -$0 })
        }
        guard !apps.isEmpty else { return }
        var isComplete = try remove(
            from: "user_guard", of: apps, batch: Self.usersMax, DeletedTopicStatements.readUsers
        ) { app, keys in try removeFromUsers(keys.map(\.key), app) }
        isComplete =
            try remove(
                from: "installation", of: apps, batch: Self.batch, DeletedTopicStatements.readInstallations
            ) { app, keys in
                try session.execute(
                    DeletedTopicStatements.removeFromInstallations(
                        app.number, keys.map(\.key),
                        keys.map(\.revision), app.codes))[0].decode(0)
            } && isComplete
        for app in apps where isComplete {
            _ = try session.execute(DeletedTopicStatements.forget(app.number, app.codes))
        }
    }

    /// A registration reads its user's choices and writes the merged ones, so it must not run at the same time.
    ///
    /// - Parameter digits: of the users' digests.
    /// - Returns: how many were written; 0 if a bucket stays locked for too long.
    private func removeFromUsers(_ digits: [String], _ app: App) throws -> Int {
        let buckets = LockBuckets(users: digits.map(UserDigest.bytes), in: AppNumber(app.number))
        do {
            return try session.withTransaction(attemptsMax: 1) {
                _ = try session.execute(buckets.exclusive)
                return try session.execute(DeletedTopicStatements.removeFromUsers(app.number, digits, app.codes))[0]
                    .decode(0)
            }
        } catch let error as PostgresError where error.kind == .lockTimeout {
            return 0
        }
    }

    /// - Parameter write: returns how many rows it has written.
    /// - Returns: whether all rows were written.
    private func remove(
        from table: String, of apps: [App], batch: Int, _ read: (PageRange, PostgresSQL) -> PostgresStatement,
        _ write: (App, [(key: String, revision: Int64)]) throws -> Int
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
                for start in stride(from: 0, to: keys.count, by: batch) {
                    let part = Array(keys[start..<min(start + batch, keys.count)])
                    let written = try nodes.with([AppNumber(app.number)]) { try write(app, part) }
                    isComplete = isComplete && written == part.count
                    try session.checkCancellation()
                }
            }
        }
        return isComplete
    }
}
