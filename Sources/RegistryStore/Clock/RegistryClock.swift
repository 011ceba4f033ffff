import EventLoop
import PostgresClient
import PushRegistry
import Synchronization

/// The time of the registry: PostgreSQL's clock, which all services share, but never earlier than a time that was seen
/// before. Where somebody sets the clock back, time stands still until the clock has caught up: an installation's times
/// stay in order, and generations ascend.
public final class RegistryClock: Sendable {
    /// How often the latest time is stored. A service that starts later may begin this much earlier.
    private static let interval = Duration.seconds(5)

    private let latest = Atomic<Int64>(0)

    public init() {}

    /// The time of the registry at a moment when PostgreSQL's clock showed `time`.
    func now(_ time: Timestamp) -> Timestamp {
        Timestamp(microseconds: latest.max(time.microseconds, ordering: .relaxed).newValue)
    }

    /// Reads and stores the latest time until it is cancelled. What fails is tried again.
    public func run(on postgres: PostgresClient) async {
        while !Task.isCancelled {
            let latest = Timestamp(microseconds: latest.load(ordering: .relaxed))
            let stored = try? await postgres.execute(RegistryClockStatements.advance(to: latest))
            if let time = try? stored?.first?.decode(0, as: PostgresTimestamp.self) { _ = now(Timestamp(time)) }
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }
}

/// The SQL of the registry's time.
enum RegistryClockStatements {
    /// The time, in statements of the night job and of imports.
    static let now: PostgresSQL = "greatest(clock_timestamp(), (SELECT latest FROM registry_clock))"

    /// A service's background task: stores the latest time that it has seen, and answers the latest of all. An idle
    /// service has seen none, and writes nothing.
    static func advance(to latest: Timestamp) -> PostgresStatement {
        PostgresStatement(advanceSQL, latest.postgres)
    }

    private static let advanceSQL = PreparedSQL(
        """
        WITH moved AS (UPDATE registry_clock SET latest = $1 WHERE latest < $1 RETURNING latest)
        SELECT greatest((SELECT latest FROM moved), (SELECT latest FROM registry_clock))
        """)
}
