import PostgresClient
import PushRegistry

/// The SQL of the registry's time.
enum RegistryClockStatements {
    static let named = [
        NamedStatement("advance", advanceSQL), NamedStatement("lastEvents", lastEvents),
        NamedStatement("lastEvent", lastEvent), NamedStatement("pass", pass),
    ]

    /// The time, in statements of the night job and of imports.
    static let now: PostgresSQL = "greatest(clock_timestamp(), (SELECT latest FROM registry_clock))"

    /// Returns the latest time of all services. A service without traffic has seen no time, and writes nothing.
    static func advance(to latest: Timestamp) -> PostgresStatement {
        PostgresStatement(advanceSQL, latest.postgres)
    }

    /// Returns the latest time or generation of the installations `$2` in microseconds since 1970; NULL if there is
    /// none. A clock that was set right was wrong by less than a day.
    static let lastEvents = PreparedSQL(
        serving: "PUT …/installations/{installId} (R12): reads the time of the last events, if it is in the future.",
        """
        SELECT max(greatest(generation_after, (extract(epoch FROM at) * 1000000)::bigint))
        FROM token_event
        WHERE app_id = $1 AND install_id = ANY ($2) AND at BETWEEN now() - interval '1 day' AND now() + interval '1 day'
            AND generation_after < (extract(epoch FROM now() + interval '1 day') * 1000000)::bigint
        """)

    /// The latest time of the last 100 events of each app; NULL if there are none. Events that lie next to each other
    /// in the feed may differ by the duration of a transaction. Times more than a day ahead are ignored: the clock was
    /// wrong. `$1` is the stored time. Of older events, only those of its month are read: an event of an earlier month
    /// is not later.
    static let lastEvent = PreparedSQL(
        serving: "Service, at start (R12): reads the time of the last events.",
        """
        SELECT max(last.at)
        FROM app CROSS JOIN LATERAL (
            SELECT at FROM token_event
            WHERE app_id = app.id AND at >= date_trunc('month', $1::timestamptz, 'UTC')
            ORDER BY position DESC LIMIT 100) AS last
        WHERE last.at < now() + interval '1 day'
        """)

    /// Returns the time of a batch of the night job, and stores it for the services, unless another transaction stores
    /// one: if the clock is set back afterwards, a service must not give later events an earlier time.
    static let pass = PreparedSQL(
        serving: "Clean-up, every batch (R12): reads and stores the registry's time.",
        """
        WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS now),
        free AS MATERIALIZED (SELECT FROM registry_clock FOR UPDATE SKIP LOCKED),
        moved AS (UPDATE registry_clock c SET latest = m.now FROM moment m, free WHERE c.latest < m.now)
        SELECT greatest(m.now, (SELECT latest FROM registry_clock)) FROM moment m
        """)

    private static let advanceSQL = PreparedSQL(
        serving: "Service, every 5 seconds: stores and reads the latest time.",
        """
        WITH moved AS (UPDATE registry_clock SET latest = $1 WHERE latest < $1 RETURNING latest)
        SELECT greatest((SELECT latest FROM moved), (SELECT latest FROM registry_clock))
        """)
}
