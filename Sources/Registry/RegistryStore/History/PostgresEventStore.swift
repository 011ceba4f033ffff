import PostgresClient
import PushRegistry

/// The history of tokens in PostgreSQL.
public struct PostgresEventStore: EventStore {
    private let resources: LoopResources
    private var postgres: PostgresClient { resources.postgres }

    public init(_ resources: LoopResources) {
        self.resources = resources
    }

    public func events(of key: InstallationKey, before: EventCursor?, limit: Int) async throws -> EventPage? {
        let statements = [
            EventStatements.isKnown(key.app.rawValue, key.installID.rawValue),
            // One more row than requested shows whether another page follows.
            EventStatements.ofInstallation(
                key.app.rawValue, key.installID.rawValue, before?.id ?? .max, Int64(limit) + 1),
        ]
        return try await read(statements, of: key.app, from: before) { results in
            try results[0][0].decode(0) ? EventPage(results[1], limit: limit) : nil
        }
    }

    public func events(of token: TokenAddress, before: EventCursor?, limit: Int) async throws -> EventPage {
        let statement = EventStatements.ofToken(
            token.app.rawValue, token.provider.rawValue, token.sha256, before?.id ?? .max, Int64(limit) + 1)
        return try await read([statement], of: token.app, from: before) { try EventPage($0[0], limit: limit) }
    }

    public func changes(of app: AppNumber, after: EventCursor?, limit: Int) async throws -> [RecordedEvent] {
        let (position, id) = (after?.position ?? 0, after?.id ?? 0)
        // In a separate round trip: the events are read in a later snapshot.
        let (horizon, end) = try await horizon()
        guard position <= end else { throw EventRefusal.cursorExpired }
        // What is dropped is recorded before it is dropped, so the record is read after the events.
        let statements = [
            EventStatements.changes(app.rawValue, position, id, horizon, Int64(limit)),
            EventStatements.isDropped(app.rawValue, position, id),
        ]
        return try await read(statements, of: app, from: after) { results in
            guard try after == nil || !results[1][0].decode(0, as: Bool.self) else { throw EventRefusal.cursorExpired }
            return try results[0].map(RecordedEvent.init)
        }
    }

    public func latestChange(of app: AppNumber) async throws -> EventCursor {
        // All events below the horizon are visible. The feed continues with the events at it and above it.
        let (horizon, _) = try await horizon()
        return try await read([EventStatements.epoch()], of: app, from: nil) { results in
            EventCursor(epoch: try results[0][0].decode(0), app: app, position: horizon, id: 0)
        }
    }

    private func horizon() async throws -> (horizon: Int64, end: Int64) {
        try await storing {
            let row = try await postgres.execute(EventStatements.horizon())[0]
            return (try row.decode(0), try row.decode(1))
        }
    }

    /// The results of the statements, if a cursor belongs to this database. An error of the database is thrown as a
    /// `StoreError`, a refusal as itself.
    private func read<Value>(
        _ statements: [PostgresStatement], of app: AppNumber, from cursor: EventCursor?,
        _ decode: ([PostgresResult]) throws -> Value
    ) async throws -> Value {
        try await resources.storing(app, refusing: EventRefusal.self) {
            var results = try await postgres.execute(statements + [EventStatements.epoch()])
            guard let epoch = results.removeLast().first, try epoch.decode(1) else {
                // A dump was restored under a running service. The next call finds the events adopted.
                _ = try await postgres.execute(EventStatements.adoptRestoredEvents)
                return try await read(statements, of: app, from: cursor, decode)
            }
            if let cursor, try cursor.epoch != epoch.decode(0) { throw EventRefusal.cursorExpired }
            return try decode(results)
        }
    }
}

/// A service's first task, before it serves: events of a restored dump get positions in this database's feed.
///
/// Costs a rewrite of the history after a restore and one look-up otherwise.
public enum RestoredEvents {
    /// For operators, after `adopt` has returned true.
    public static let notice = """
        the database was restored from a dump, or PostgreSQL was upgraded: readers of the change feed must start over
        """

    /// - Returns: whether the database was restored from a dump, or is of another cluster, since the last time.
    public static func adopt(_ configuration: PostgresConfiguration) async throws -> Bool {
        try await PostgresSession.withSession(configuration) { session in
            try session.execute(EventStatements.adoptRestoredEvents)[0].decode(0)
        }
    }
}
