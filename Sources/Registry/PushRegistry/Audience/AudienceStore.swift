import Basics

/// Counts, lists and streams audiences. Each call reads one snapshot of the database.
///
/// - Throws: every call throws `AudienceRefusal` and `StoreError`.
public protocol AudienceStore: Sendable {
    /// - Parameter explains: whether the result contains the query plan.
    func count(_ audience: Audience, explains: Bool) async throws -> AudienceCount

    /// The largest groups. Groups of equal size are in the order of their values, a missing value last.
    ///
    /// - Parameter fields: discrete fields, at least one.
    func breakDown(
        _ audience: Audience, by fields: [AudienceField], limit: Int, explains: Bool
    ) async throws -> AudienceBreakdown

    /// The counts of past days, as the night job recorded them. Days without a record are left out.
    ///
    /// - Throws: `AudienceRefusal.outsideRecords`.
    func counts(_ audience: Audience, on days: [CalendarDay]) async throws -> [AudienceTrend.Point]

    /// A breakdown of a past day.
    ///
    /// - Throws: `AudienceRefusal.outsideRecords`, `noRecord`.
    func breakDown(
        _ audience: Audience, by fields: [AudienceField], limit: Int, on day: CalendarDay
    ) async throws -> AudienceBreakdown

    /// One page. Ids of both orders never change.
    func page(
        _ audience: Audience, from position: AudiencePosition, limit: Int, explains: Bool
    ) async throws -> AudiencePage

    /// The points in time at which the devices' local clocks show `time` on `day`.
    func waves(
        _ audience: Audience, at time: LocalTime, on day: CalendarDay, explains: Bool
    ) async throws -> AudienceWaves

    /// One of the slots for concurrent exports. The slot is free again when the value is released. Apps are served in
    /// turn.
    func makeExportSlot(of app: AppNumber) async throws -> any Sendable

    /// Passes all rows to `consume`, in chunks. The next chunk is fetched after `consume` has returned: rows that the
    /// caller does not take stay in the database.
    ///
    /// - Throws: also what `consume` throws; `AudienceRefusal.exportExpired` if the snapshot was held too long.
    func export(
        _ audience: Audience, _ columns: [ExportColumn], from position: AudiencePosition,
        _ consume: (ExportRows) async throws -> Void
    ) async throws
}

extension AudienceStore {
    /// The count of a past day.
    ///
    /// - Throws: `AudienceRefusal.outsideRecords`, `noRecord`.
    public func count(_ audience: Audience, on day: CalendarDay) async throws -> AudienceCount {
        guard let point = try await counts(audience, on: [day]).first else { throw AudienceRefusal.noRecord(day) }
        return AudienceCount(asOf: point.asOf, count: point.count, unknown: [], plan: nil)
    }
}

/// The id under which marketing knows an installation: a keyed digest of the installation id. Without the app's key it
/// reveals nothing of the installation id, neither by itself nor by its position in a list (fine print 38).
public struct OpaqueID: Hashable, Sendable {
    /// Enough to avoid collisions in any fleet.
    public static let bytesCount = 16
    /// Of the digest that tells the names of one installation's typed tokens apart.
    public static let nameBytesCount = 8

    public let bytes: [UInt8]

    /// Nil for another number of bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.bytesCount else { return nil }
        self.bytes = bytes
    }

    /// 32 hexadecimal digits, in the order of the bytes.
    public var text: String { String(hex: bytes) }
}

/// The order of an audience's rows, and the row after which they begin; nil: from the first one on. Typed tokens of one
/// installation come in the order of their names, or of digests of these.
public enum AudiencePosition: Hashable, Sendable {
    /// By installation id: for senders, who see it. An index has this order.
    case installID(after: InstallID?, name: String? = nil)
    /// By opaque id: for marketing. The database computes the ids of all rows that match, and sorts them.
    case opaqueID(after: OpaqueID?, name: [UInt8] = [])

    /// The first row in the order of installation ids.
    public static let start = AudiencePosition.installID(after: nil)
}

/// Why an audience query failed.
public enum AudienceRefusal: Error, Hashable, Sendable {
    /// The query exceeded its time limit.
    case tooExpensive
    /// The client read an export too slowly.
    case exportExpired
    /// No record has the counts of the day.
    case noRecord(CalendarDay)
    /// Records have the counts by some fields only, and of one topic that is not locked. These fields are no such ones.
    case outsideRecords([AudienceField])
}

/// How the size of an audience changed.
public enum AudienceTrend {
    public struct Point: Hashable, Sendable {
        public let day: CalendarDay
        /// The moment that was counted.
        public let asOf: Timestamp
        public let count: Int64

        public init(day: CalendarDay, asOf: Timestamp, count: Int64) {
            (self.day, self.asOf, self.count) = (day, asOf, count)
        }
    }

    public enum Interval: String, CaseIterable, Sendable {
        case day = "P1D"
        case week = "P1W"
        case month = "P1M"
    }

    /// How long the night job keeps its records.
    public static let retention = ISO8601Duration.days(400)
    public static let pointsMax = 400

    /// The days from `first` to `last`. Nil: they are more than `pointsMax`.
    public static func days(
        from first: CalendarDay, to last: CalendarDay, every interval: Interval
    ) -> [CalendarDay]? {
        var days: [CalendarDay] = []
        var day = first
        while day <= last {
            guard days.count < pointsMax else { return nil }
            days.append(day)
            day =
                switch interval {
                case .day: first.advanced(byDays: days.count)
                case .week: first.advanced(byDays: 7 * days.count)
                case .month: first.advanced(byMonths: days.count)
                }
        }
        return days
    }
}

/// How a query was executed.
public struct AudiencePlan: Hashable, Sendable {
    public enum Path: String, Hashable, Sendable {
        case rollUp, index, scan
    }

    public let path: Path
    /// The number of rows to read, as the planner estimates it.
    public let estimatedRows: Int64

    public init(path: Path, estimatedRows: Int64) {
        (self.path, self.estimatedRows) = (path, estimatedRows)
    }
}

public struct AudienceCount: Hashable, Sendable {
    public let asOf: Timestamp
    public let count: Int64
    /// Values of the filter that no installation has.
    public let unknown: [UnknownValue]
    public let plan: AudiencePlan?

    public init(asOf: Timestamp, count: Int64, unknown: [UnknownValue], plan: AudiencePlan?) {
        (self.asOf, self.count, self.unknown, self.plan) = (asOf, count, unknown, plan)
    }
}

public struct AudienceBreakdown: Hashable, Sendable {
    public struct Group: Hashable, Sendable {
        /// One text for each field; nil for installations without a value.
        public let values: [String?]
        public let count: Int64

        public init(values: [String?], count: Int64) {
            (self.values, self.count) = (values, count)
        }
    }

    public let asOf: Timestamp
    /// The number of installations.
    public let total: Int64
    /// The sum of the counts of all groups; above `total` if an installation is in several groups.
    public let counted: Int64
    public let groups: [Group]
    /// The number of groups that `groups` leaves out.
    public let restGroups: Int64
    /// Values of the filter that no installation has.
    public let unknown: [UnknownValue]
    public let plan: AudiencePlan?

    public var restCount: Int64 { counted - groups.reduce(0) { $0 + $1.count } }

    public init(
        asOf: Timestamp, total: Int64, counted: Int64, groups: [Group], restGroups: Int64, unknown: [UnknownValue],
        plan: AudiencePlan?
    ) {
        (self.asOf, self.total, self.counted, self.groups) = (asOf, total, counted, groups)
        (self.restGroups, self.unknown, self.plan) = (restGroups, unknown, plan)
    }
}

public struct AudiencePage: Sendable {
    public struct Item: Sendable {
        public let installID: InstallID
        public let provider: String
        public let token: Token?
        public let keys: WebPushKeys?
        public let generation: Int64
        /// The number of its cell in the roll-up.
        public let cell: Int64
        public let userID: String?
        /// In the order of opaque ids only.
        public let opaqueID: OpaqueID?
        /// In the order of opaque ids, and of typed tokens only: the digest of the token's name.
        public let nameDigest: [UInt8]
        /// Nil for a main token.
        public let typed: Typed?

        /// Of a typed token.
        public struct Typed: Sendable {
            /// Empty: it has none.
            public let name: String
            public let expiresAt: Timestamp?

            public init(name: String, expiresAt: Timestamp?) {
                (self.name, self.expiresAt) = (name, expiresAt)
            }
        }

        public init(
            installID: InstallID, provider: String, token: Token?, keys: WebPushKeys?, generation: Int64, cell: Int64,
            userID: String?, opaqueID: OpaqueID?, nameDigest: [UInt8] = [], typed: Typed? = nil
        ) {
            (self.installID, self.provider, self.token, self.keys) = (installID, provider, token, keys)
            (self.generation, self.cell, self.userID, self.opaqueID) = (generation, cell, userID, opaqueID)
            (self.nameDigest, self.typed) = (nameDigest, typed)
        }
    }

    public let asOf: Timestamp
    public let items: [Item]
    public let hasMore: Bool
    public let plan: AudiencePlan?

    public init(asOf: Timestamp, items: [Item], hasMore: Bool, plan: AudiencePlan?) {
        (self.asOf, self.items, self.hasMore, self.plan) = (asOf, items, hasMore, plan)
    }
}

public struct AudienceWaves: Hashable, Sendable {
    public struct Wave: Hashable, Sendable {
        public let at: Timestamp
        public let count: Int64
        /// In alphabetical order; nil, the last one, is for installations without a zone whose offset is known.
        public let timeZones: [String?]
        /// Of these zones, those whose clocks skip or repeat the local time on that day, in alphabetical order.
        public let clockChanges: [ClockChange]

        public init(at: Timestamp, count: Int64, timeZones: [String?], clockChanges: [ClockChange]) {
            (self.at, self.count, self.timeZones, self.clockChanges) = (at, count, timeZones, clockChanges)
        }
    }

    public struct ClockChange: Hashable, Sendable {
        public let timeZone: String
        /// What the clocks show at the instant, `03:30`, if they skip the local time; nil if they show it twice.
        public let skippedTo: String?

        public init(timeZone: String, skippedTo: String?) {
            (self.timeZone, self.skippedTo) = (timeZone, skippedTo)
        }
    }

    public let asOf: Timestamp
    public let waves: [Wave]
    /// Imported installations without a zone and an offset: they are in no wave.
    public let withoutTimeZone: Int64
    public let plan: AudiencePlan?

    public var total: Int64 { waves.reduce(withoutTimeZone) { $0 + $1.count } }

    public init(asOf: Timestamp, waves: [Wave], withoutTimeZone: Int64, plan: AudiencePlan?) {
        (self.asOf, self.waves, self.withoutTimeZone, self.plan) = (asOf, waves, withoutTimeZone, plan)
    }
}
