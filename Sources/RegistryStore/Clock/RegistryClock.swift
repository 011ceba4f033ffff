import EventLoop
import PostgresClient
import PushRegistry
import Synchronization

/// The time of the registry: PostgreSQL's clock, which all services share, but never earlier than a time that was seen
/// before. If the clock is set back, the registry's time stands still until the clock has caught up: an installation's
/// times stay in order, and generations ascend.
public final class RegistryClock: Sendable {
    /// How often the latest time is stored.
    private static let interval = Duration.seconds(5)

    private let latest = Atomic<Int64>(0)

    public init() {}

    /// The time of the registry at a moment when PostgreSQL's clock showed `time`.
    func now(_ time: Timestamp) -> Timestamp {
        Timestamp(microseconds: latest.max(time.microseconds, ordering: .relaxed).newValue)
    }

    /// Takes the time of the last events of installations of one app, if it is later: the database's clock was set back
    /// when nobody had seen these events.
    func catchUp(
        withHistoryOf installIDs: [InstallID], in app: AppNumber, _ transaction: PostgresTransaction
    ) async throws {
        let lastEvents = PostgresStatement(
            RegistryClockStatements.lastEvents, app.rawValue, installIDs.map(\.rawValue))
        guard let last = try await transaction.execute([lastEvents])[0][0].decode(0, as: Int64?.self) else { return }
        _ = now(Timestamp(microseconds: last + 1))
    }

    /// A service's first task, before it serves: takes the latest time of all services and of the last events. A
    /// service that died may have written events since it stored its time. On Citus, it does not read the events, which
    /// lie on other nodes.
    ///
    /// - Throws: `PostgresError`.
    public func begin(_ configuration: PostgresConfiguration) async throws {
        let latest = try await PostgresSession.withSession(configuration) { session in
            let stored = RegistryClockStatements.advance(to: Timestamp(microseconds: 0))
            let latest: PostgresTimestamp = try session.execute(stored)[0].decode(0)
            guard try !Distribution.exists(session) else { return latest }
            let last = PostgresStatement(RegistryClockStatements.lastEvent, latest)
            guard let time = try session.execute(last)[0].decode(0, as: PostgresTimestamp?.self) else { return latest }
            return max(time, latest)
        }
        _ = now(Timestamp(latest))
    }

    /// Reads and stores the latest time until it is cancelled. A failure is retried.
    public func run(on postgres: PostgresClient) async {
        while !Task.isCancelled {
            try? await synchronize(on: postgres)
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }

    /// Stores the latest time that was seen here, and takes the latest one of all services.
    func synchronize(on postgres: PostgresClient) async throws {
        let latest = Timestamp(microseconds: latest.load(ordering: .relaxed))
        let stored = try await postgres.execute(RegistryClockStatements.advance(to: latest))
        _ = now(Timestamp(try stored[0].decode(0, as: PostgresTimestamp.self)))
    }
}
