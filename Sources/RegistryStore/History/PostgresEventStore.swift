import PostgresClient
import PushRegistry

/// The history of tokens in PostgreSQL.
public struct PostgresEventStore: EventStore {
    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func events(of key: InstallationKey, before: EventCursor?, limit: Int) async throws -> EventPage? {
        try await storing {
            let results = try await postgres.execute([
                PostgresStatement(EventStatements.isKnown, key.app.rawValue, key.installID.rawValue),
                // One more than asked for tells whether another page follows.
                PostgresStatement(
                    EventStatements.ofInstallation, key.app.rawValue, key.installID.rawValue, before?.id ?? .max,
                    Int64(limit) + 1),
            ])
            return try results[0][0].decode(0) ? EventPage(results[1], limit: limit) : nil
        }
    }

    public func events(of token: TokenAddress, before: EventCursor?, limit: Int) async throws -> EventPage {
        try await storing {
            let rows = try await postgres.execute(
                PostgresStatement(
                    EventStatements.ofToken, token.app.rawValue, token.provider.rawValue, token.sha256,
                    before?.id ?? .max, Int64(limit) + 1))
            return try EventPage(rows, limit: limit)
        }
    }

    public func changes(of app: AppNumber, after: EventCursor?, limit: Int) async throws -> [RecordedEvent] {
        try await storing {
            let (transactionID, id) = (after?.transactionID ?? 0, after?.id ?? 0)
            let results = try await postgres.execute([
                PostgresStatement(EventStatements.epoch),
                PostgresStatement(EventStatements.isKept, app.rawValue, transactionID, id),
                PostgresStatement(EventStatements.changes, app.rawValue, transactionID, id, Int64(limit)),
            ])
            guard let epoch = results[0].first, try epoch.decode(1) else {
                // A dump was restored under a running service. The next question finds the events in place.
                try await adoptRestoredEvents()
                return try await changes(of: app, after: after, limit: limit)
            }
            if let after, try after.epoch != epoch.decode(0) || results[1].isEmpty {
                throw ChangesRefusal.cursorExpired
            }
            return try results[2].map(RecordedEvent.init)
        }
    }

    private func adoptRestoredEvents() async throws {
        _ = try await postgres.execute(EventStatements.adoptRestoredEvents)
    }

    /// Runs `body`; whatever the database throws leaves as a `StoreError`, a refusal as itself.
    private func storing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let refusal as ChangesRefusal {
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
