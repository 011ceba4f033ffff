import PostgresClient
import PushRegistry
import RegistryStore

/// The records of the night job in PostgreSQL.
public struct PostgresCleanUpRunStore: CleanUpRunStore {
    /// Apps of one run in a response.
    public static let appsMax: Int64 = 100

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func runs(of app: AppNumber?, before: Int32?, limit: Int) async throws -> [RecordedCleanUp] {
        do {
            let rows = try await postgres.execute(
                CleanUpRunStatements.page(app?.rawValue, before ?? .max, Int64(limit), Self.appsMax))
            var runs: [RecordedCleanUp] = []
            for row in rows {
                let run = try RecordedCleanUp(row)
                if runs.last?.number != run.number { runs.append(run) }
                if let result = try RecordedCleanUp.AppResult(row) { runs[runs.count - 1].apps.append(result) }
            }
            return runs
        } catch {
            throw StoreError(error)
        }
    }
}

extension RecordedCleanUp {
    /// The run of a row, without its apps.
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            number: try row.decode(0), undoes: try row.decode(1), scope: try row.decode(2),
            startedAt: Timestamp(try row.decode(3, as: PostgresTimestamp.self)),
            finishedAt: try row.decode(4, as: PostgresTimestamp?.self).map { Timestamp($0) },
            outcome: try row.decode(5), maxShare: try row.decode(6),
            upkeep: Upkeep(
                tombstones: try row.decode(7), partitionsMade: try row.decode(8), partitionsDropped: try row.decode(9),
                historyRemoved: try row.decode(10)),
            apps: [], appCount: try row.decode(11))
    }
}

extension RecordedCleanUp.AppResult {
    /// Nil if the run has no apps.
    fileprivate init?(_ row: PostgresRow) throws {
        guard let app = try row.decode(12, as: String?.self) else { return nil }
        self.init(
            app: try AppID(app), active: try row.decode(13), leaving: try row.decode(14),
            isRefused: try row.decode(15), counts: try CleanUpCounts(row, from: 18), restored: try row.decode(16),
            restorable: try row.decode(17))
    }
}
