import PostgresClient
import PushRegistry

/// The history of tokens in PostgreSQL.
public struct PostgresEventStore: EventStore {
    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func events(of key: InstallationKey, before: EventCursor?, limit: Int) async throws -> EventPage? {
        let statements = [
            PostgresStatement(EventStatements.isKnown, key.app.rawValue, key.installID.rawValue),
            // One more than asked for tells whether another page follows.
            PostgresStatement(
                EventStatements.ofInstallation, key.app.rawValue, key.installID.rawValue, before?.id ?? .max,
                Int64(limit) + 1),
        ]
        return try await read(statements, from: before) { results in
            try results[0][0].decode(0) ? EventPage(results[1], limit: limit) : nil
        }
    }

    public func events(of token: TokenAddress, before: EventCursor?, limit: Int) async throws -> EventPage {
        let statement = PostgresStatement(
            EventStatements.ofToken, token.app.rawValue, token.provider.rawValue, token.sha256, before?.id ?? .max,
            Int64(limit) + 1)
        return try await read([statement], from: before) { try EventPage($0[0], limit: limit) }
    }

    public func changes(of app: AppNumber, after: EventCursor?, limit: Int) async throws -> [RecordedEvent] {
        let (position, id) = (after?.position ?? 0, after?.id ?? 0)
        let horizon = try await storing {
            // In a trip of its own: the events are read in a later snapshot.
            try await postgres.execute(PostgresStatement(EventStatements.horizon))[0].decode(0, as: Int64.self)
        }
        let statements = [
            PostgresStatement(EventStatements.isDropped, app.rawValue, position, id),
            PostgresStatement(EventStatements.changes, app.rawValue, position, id, horizon, Int64(limit)),
        ]
        return try await read(statements, from: after) { results in
            guard try after == nil || !results[0][0].decode(0, as: Bool.self) else { throw EventRefusal.cursorExpired }
            return try results[1].map(RecordedEvent.init)
        }
    }

    private func storing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw StoreError(error)
        }
    }

    /// What the statements answer, if a cursor is one of this database. Whatever the database throws leaves as a
    /// `StoreError`, a refusal as itself.
    private func read<Value>(
        _ statements: [PostgresStatement], from cursor: EventCursor?, _ decode: ([PostgresResult]) throws -> Value
    ) async throws -> Value {
        do {
            var results = try await postgres.execute(statements + [PostgresStatement(EventStatements.epoch)])
            guard let epoch = results.removeLast().first, try epoch.decode(1) else {
                // A dump was restored under a running service. The next question finds the events in place.
                _ = try await postgres.execute(EventStatements.adoptRestoredEvents)
                return try await read(statements, from: cursor, decode)
            }
            if let cursor, try cursor.epoch != epoch.decode(0) { throw EventRefusal.cursorExpired }
            return try decode(results)
        } catch let refusal as EventRefusal {
            throw refusal
        } catch {
            throw StoreError(error)
        }
    }
}

/// What a service does once, before it serves: events of a restored dump get their place in this database's feed.
///
/// Costs a rewrite of the history after a restore and one look-up otherwise.
public enum RestoredEvents {
    /// - Returns: whether the database was restored from a dump since the last time.
    public static func adopt(_ configuration: PostgresConfiguration) async throws -> Bool {
        try await PostgresSession.withSession(configuration) { session in
            try session.execute(EventStatements.adoptRestoredEvents)[0].decode(0)
        }
    }
}
