/// The times that an app's policy draws for the night job, seen from one moment: what happened at one of them or before
/// is due.
public struct CleanUpBounds: Sendable {
    /// The moment itself: sessions that expired until then are over.
    public let asOf: Timestamp
    /// Last seen until then: silent for the grace period (R5, R9).
    public let silentSince: Timestamp
    /// Out of `active` since then: purged (R11).
    public let changedSince: Timestamp
    /// Logged out until then: forgotten (fine print 16).
    public let loggedOutSince: Timestamp
    private let policy: AppPolicy

    public init(_ policy: AppPolicy, asOf: Timestamp) {
        self.asOf = asOf
        self.policy = policy
        silentSince = asOf.preceding(by: policy.grace)
        changedSince = asOf.preceding(by: policy.retention)
        loggedOutSince = asOf.preceding(by: policy.sessionTombstones)
    }

    /// Last seen until then: stale (R11).
    public func unseenSince(_ provider: Provider) -> Timestamp {
        asOf.preceding(by: policy.staleAfter[provider])
    }
}

/// Stops a run before it retires a suspicious share of an app: a wrong policy or clock looks like an app that nobody
/// uses any more.
///
/// Judgements count. Sessions that have expired do not: that is a fact of the app's own making, changes nobody's
/// reachability, and may well concern every installation every night.
public struct CleanUpBreaker: Sendable {
    /// Of an app's active and suspect installations, 0 to 1.
    public let maxShare: Double

    public static let standardShare = 0.2

    public init(maxShare: Double = standardShare) {
        self.maxShare = maxShare
    }

    public func refuses(leaving: Int, of active: Int) -> Bool {
        Double(leaving) > maxShare * Double(active)
    }
}
