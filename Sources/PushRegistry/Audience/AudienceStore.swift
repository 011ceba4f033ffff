/// Where audiences are counted, listed and streamed. Each call sees one moment of the data.
///
/// - Throws: all calls `AudienceRefusal`, `StoreError`.
public protocol AudienceStore: Sendable {
    /// - Parameter explains: whether the answer tells how it was found.
    func count(_ audience: Audience, explains: Bool) async throws -> AudienceCount

    /// The largest groups; ties by the groups' values, no value last.
    ///
    /// - Parameter fields: discrete ones, at least one.
    func breakDown(
        _ audience: Audience, by fields: [AudienceField], limit: Int, explains: Bool
    ) async throws -> AudienceBreakdown

    /// In the order of the installations' ids, which never change; `after` is the last one of the page before.
    func page(_ audience: Audience, after: InstallID?, limit: Int, explains: Bool) async throws -> AudiencePage

    /// When it is that time on that day, wherever the devices are.
    func waves(
        _ audience: Audience, at time: LocalTime, on day: CalendarDay, explains: Bool
    ) async throws -> AudienceWaves

    /// A place among those that exports may take at once; it is free again when it is let go.
    func makeExportPlace() async throws -> any Sendable

    /// Hands out all rows in the order of the installations' ids, piece by piece, each after `consume` has returned
    /// from the last: what is not taken stays with the database.
    ///
    /// - Throws: what `consume` throws, too. `AudienceRefusal.exportExpired` once the moment was held too long.
    func export(
        _ audience: Audience, _ columns: [ExportColumn], after: InstallID?,
        _ consume: (ExportRows) async throws -> Void
    ) async throws

    /// What the app's opaque ids are made with. It never leaves the service.
    func identityKey(of app: AppNumber) async throws -> [UInt8]
}

/// Why an audience is not told.
public enum AudienceRefusal: Error, Hashable, Sendable {
    /// Finding it takes longer than it may.
    case tooExpensive
    /// An export was read too slowly.
    case exportExpired
}

/// How an answer was found.
public struct AudiencePlan: Hashable, Sendable {
    public enum Path: String, Hashable, Sendable {
        case rollUp, index, scan
    }

    public let path: Path
    /// How many rows are to be read, by the planner's statistics.
    public let estimatedRows: Int64

    public init(path: Path, estimatedRows: Int64) {
        self.path = path
        self.estimatedRows = estimatedRows
    }
}

public struct AudienceCount: Hashable, Sendable {
    public let asOf: Timestamp
    public let count: Int64
    /// Values of the filter that no installation has.
    public let unknown: [UnknownValue]
    public let plan: AudiencePlan?

    public init(asOf: Timestamp, count: Int64, unknown: [UnknownValue], plan: AudiencePlan?) {
        self.asOf = asOf
        self.count = count
        self.unknown = unknown
        self.plan = plan
    }
}

public struct AudienceBreakdown: Hashable, Sendable {
    public struct Group: Hashable, Sendable {
        /// One for each field, as texts; nil where the installations have no value.
        public let values: [String?]
        public let count: Int64

        public init(values: [String?], count: Int64) {
            self.values = values
            self.count = count
        }
    }

    public let asOf: Timestamp
    public let total: Int64
    public let groups: [Group]
    /// How many groups there are beyond those.
    public let restGroups: Int64
    /// Values of the filter that no installation has.
    public let unknown: [UnknownValue]
    public let plan: AudiencePlan?

    public var restCount: Int64 { total - groups.reduce(0) { $0 + $1.count } }

    public init(
        asOf: Timestamp, total: Int64, groups: [Group], restGroups: Int64, unknown: [UnknownValue],
        plan: AudiencePlan?
    ) {
        self.asOf = asOf
        self.total = total
        self.groups = groups
        self.restGroups = restGroups
        self.unknown = unknown
        self.plan = plan
    }
}

public struct AudiencePage: Sendable {
    public struct Item: Sendable {
        public let installID: InstallID
        public let provider: String
        public let token: Token?
        public let keys: WebPushKeys?
        public let generation: Int64

        public init(installID: InstallID, provider: String, token: Token?, keys: WebPushKeys?, generation: Int64) {
            self.installID = installID
            self.provider = provider
            self.token = token
            self.keys = keys
            self.generation = generation
        }
    }

    public let asOf: Timestamp
    public let items: [Item]
    public let hasMore: Bool
    public let plan: AudiencePlan?

    public init(asOf: Timestamp, items: [Item], hasMore: Bool, plan: AudiencePlan?) {
        self.asOf = asOf
        self.items = items
        self.hasMore = hasMore
        self.plan = plan
    }
}

public struct AudienceWaves: Hashable, Sendable {
    public struct Wave: Hashable, Sendable {
        public let at: Timestamp
        public let count: Int64
        /// In alphabetical order.
        public let timeZones: [String]

        public init(at: Timestamp, count: Int64, timeZones: [String]) {
            self.at = at
            self.count = count
            self.timeZones = timeZones
        }
    }

    public let asOf: Timestamp
    public let waves: [Wave]
    public let plan: AudiencePlan?

    public var total: Int64 { waves.reduce(0) { $0 + $1.count } }

    public init(asOf: Timestamp, waves: [Wave], plan: AudiencePlan?) {
        self.asOf = asOf
        self.waves = waves
        self.plan = plan
    }
}
