/// A run of the night job as it was recorded.
public struct RecordedCleanUp: Sendable {
    /// What the run did in one app.
    public struct AppResult: Sendable {
        public let app: AppID
        /// Active installations before the run, and how many of them the run would retire.
        public let active: Int64
        public let leaving: Int64
        /// Whether the run skipped the app, because too large a share of it would have gone.
        public let isRefused: Bool
        public let counts: CleanUpCounts
        /// Of a run that undoes another one.
        public let restored: Int64
        /// The most installations that an undo restores. It leaves alone those that changed since, and those that
        /// another installation replaced.
        public let restorable: Int64

        public init(
            app: AppID, active: Int64, leaving: Int64, isRefused: Bool, counts: CleanUpCounts, restored: Int64,
            restorable: Int64
        ) {
            (self.app, self.active, self.leaving, self.isRefused) = (app, active, leaving, isRefused)
            (self.counts, self.restored, self.restorable) = (counts, restored, restorable)
        }
    }

    /// What the run did besides the installations of apps.
    public struct Upkeep: Sendable {
        public let tombstones: Int64
        public let partitionsMade: Int64
        public let partitionsDropped: Int64
        public let historyRemoved: Int64

        public init(tombstones: Int64, partitionsMade: Int64, partitionsDropped: Int64, historyRemoved: Int64) {
            (self.tombstones, self.partitionsMade) = (tombstones, partitionsMade)
            (self.partitionsDropped, self.historyRemoved) = (partitionsDropped, historyRemoved)
        }
    }

    public let number: Int32
    /// The run that this one undid.
    public let undoes: Int32?
    /// The apps that it was limited to; nil: all apps, and history.
    public let scope: [String]?
    public let startedAt: Timestamp
    public let finishedAt: Timestamp?
    /// `running`, `done`, `refused`, `failed` or `interrupted`.
    public let outcome: String
    /// The largest share of an app's active installations that the run was allowed to retire.
    public let maxShare: Double?
    public let upkeep: Upkeep
    /// Skipped apps first, then those with the most changes.
    public var apps: [AppResult]
    /// The apps that the run looked at, also those that `apps` leaves out.
    public let appCount: Int64

    public init(
        number: Int32, undoes: Int32?, scope: [String]?, startedAt: Timestamp, finishedAt: Timestamp?, outcome: String,
        maxShare: Double?, upkeep: Upkeep, apps: [AppResult], appCount: Int64
    ) {
        (self.number, self.undoes, self.scope, self.startedAt) = (number, undoes, scope, startedAt)
        (self.finishedAt, self.outcome, self.maxShare, self.upkeep) = (finishedAt, outcome, maxShare, upkeep)
        (self.apps, self.appCount) = (apps, appCount)
    }
}

/// Reads the records of the night job.
public protocol CleanUpRunStore: Sendable {
    /// The newest first.
    ///
    /// - Parameters:
    ///   - app: only runs that looked at this app, and only what they did in it; nil for all apps.
    ///   - before: the last run of the previous page.
    /// - Throws: `StoreError`.
    func runs(of app: AppNumber?, before: Int32?, limit: Int) async throws -> [RecordedCleanUp]
}
