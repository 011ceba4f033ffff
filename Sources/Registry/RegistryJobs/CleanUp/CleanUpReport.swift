import PushRegistry

/// The changes of a run, or, of a dry run, the changes that it would make.
public struct CleanUpReport: Sendable {
    public struct AppResult: Sendable {
        public let app: String
        /// Active installations before the run, suspect ones among them.
        public let active: Int
        /// How many of them the run would retire.
        public let leaving: Int
        /// Whether the breaker stopped the app: then nothing of it was changed.
        public let isRefused: Bool
        public internal(set) var counts: CleanUpCounts
        /// The reason why the app's policy cannot be used; then the app was skipped.
        public var policyFault: String?
        /// The reason why the app's node did not respond, on Citus: the app was skipped from then on.
        public var nodeFault: String?
    }

    /// Nil for a dry run, which is not recorded.
    public let runID: Int?
    public let apps: [AppResult]
    public let tombstones: Int
    public let partitionsMade: Int
    public let partitionsDropped: Int
    public let historyRemoved: Int
    /// The reason why history was not kept, on Citus: a node did not respond.
    public var historyFault: String?

    public var counts: CleanUpCounts { apps.reduce(CleanUpCounts()) { $0 + $1.counts } }
    public var isRefused: Bool { apps.contains(where: \.isRefused) }
    /// Whether a node did not respond, so that a part is left for another run.
    public var isIncomplete: Bool { historyFault != nil || apps.contains { $0.nodeFault != nil } }
}

/// A run as it was recorded.
public struct CleanUpRun: Sendable {
    public let id: Int
    /// The run that this one undid.
    public let undoes: Int?
    /// The apps that it was limited to; nil: all apps, and history.
    public let apps: [String]?
    public let startedAt: Timestamp
    public let finishedAt: Timestamp?
    /// `running`, `done`, `refused`, `failed` or `interrupted`.
    public let outcome: String
    public let counts: CleanUpCounts
    public let restored: Int
}

/// Why there was no run.
public enum CleanUpRefusal: Error, CustomStringConvertible {
    /// Another run is under way: the holder of the lock, if the database knows it.
    case busy(String)
    case unknownRun(Int)
    case unknownApp(String)
    /// The run itself has undone another one.
    case notUndoable(Int)

    public var description: String {
        switch self {
        case .busy(let holder): "Another clean-up is in progress: \(holder)."
        case .unknownRun(let id): "There is no run \(id); `cleanup runs` lists them."
        case .unknownApp(let id): "There is no app \(id); `push-registry apps` lists them."
        case .notUndoable(let id): "Run \(id) undid another one; it cannot be undone."
        }
    }
}
