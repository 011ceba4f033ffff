/// The cut-off times of one clean-up run, from the app's policy: anything at or before them is due.
public struct CleanUpBounds: Sendable {
    /// The time of the run. Sessions that expired by then have ended.
    public let asOf: Timestamp
    /// Installations last seen by then have been silent for the grace period (R5, R9).
    public let silentSince: Timestamp
    /// Installations that left `active` by then are purged (R11).
    public let changedSince: Timestamp
    /// Tombstones of logouts by then are deleted (fine print 16).
    public let loggedOutSince: Timestamp
    private let policy: AppPolicy

    public init(_ policy: AppPolicy, asOf: Timestamp) {
        self.asOf = asOf
        self.policy = policy
        silentSince = asOf.preceding(by: policy.grace)
        changedSince = asOf.preceding(by: policy.retention)
        loggedOutSince = asOf.preceding(by: policy.sessionTombstones)
    }

    /// The provider's installations that were last seen by then are stale (R11).
    public func unseenSince(_ provider: Provider) -> Timestamp {
        asOf.preceding(by: policy.staleAfter[provider])
    }
}

/// Skips an app if a run would retire a suspicious share of it: with a wrong policy or clock, an app looks unused.
///
/// Only judgements count. Expired sessions do not: the app set their expiry, they change no installation's
/// reachability, and every installation may be affected every night.
public struct CleanUpBreaker: Sendable {
    /// The largest share of an app's active and suspect installations that a run may retire, 0 to 1.
    public let maxShare: Double

    public static let standardShare = 0.2

    public init(maxShare: Double = standardShare) {
        self.maxShare = maxShare
    }

    public func refuses(leaving: Int, of active: Int) -> Bool {
        Double(leaving) > maxShare * Double(active)
    }
}
