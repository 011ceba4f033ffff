import EventLoop
import PostgresClient

/// Has PostgreSQL look again at tables that are no longer as small as it knows them: sessions plan anew then, which planned to read all of
/// a table that was empty. Autovacuum does so once a minute.
public struct GrownTables: Sendable {
    private static let interval = Duration.seconds(1)
    private static let analyze = PostgresStatement("SELECT analyze_grown_tables()").unprepared()

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Looks until it is cancelled. What fails is tried again in the next round, and by autovacuum.
    public func run() async {
        while !Task.isCancelled {
            _ = try? await postgres.execute(Self.analyze)
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }
}
