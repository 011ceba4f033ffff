import Basics
public import PostgresClient
public import PushRegistry

/// The breakers for feedback that have held a verdict within an hour, for `GET /readyz`. All loops of a process share
/// them.
public final class OpenBreakers: Sendable {
    private struct Open: Sendable {
        let app: AppNumber
        let provider: String
    }

    private let last = Locked<[Open]>([])

    public init() {}

    /// Reads those of all apps. On Citus the statement waits for every node, also for one that hangs.
    ///
    /// - Throws: `PostgresError`: the last ones stay.
    public func refresh(_ postgres: PostgresClient) async throws {
        let rows = try await postgres.read(FeedbackBreakerStatements.open())
        let open = try rows.map { Open(app: AppNumber(try $0.decode(0)), provider: try $0.decode(1)) }
        last.withLock { $0 = open }
    }

    /// Those of the last refresh, as `feedback:<app>:<provider>`. One of any kind of tokens opens its provider.
    public func names(of apps: DirectorySnapshot) -> [String] {
        last.withLock(\.self).compactMap { open in
            apps.app(open.app).map { "feedback:\($0.id):\(open.provider)" }
        }.sorted()
    }
}
