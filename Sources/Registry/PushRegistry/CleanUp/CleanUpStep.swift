/// A change that the clean-up makes to an installation; at most one in a run.
public enum CleanUpStep: String, CaseIterable, Sendable {
    /// R5: probably replaced, and silent for the grace period. Its token is deleted.
    case superseded
    /// R9: suspect, and silent for the grace period.
    case unregistered
    /// R7: its session has expired. It loses its owner.
    case sessionEnded
    /// R11: not seen for longer than the app's policy allows for its provider.
    case stale
    /// R11: left `active` longer ago than the app's retention. It is deleted; its history stays.
    case purged

    /// Whether the step rests on a judgement of the clean-up, not on a fact such as an expiry.
    public var isJudgement: Bool {
        switch self {
        case .superseded, .unregistered, .stale: true
        case .sessionEnded, .purged: false
        }
    }

    /// The installation after the step (nil: it is deleted), and the event.
    ///
    /// - Parameter present: an installation for which the step is due.
    public func outcome(
        for present: Installation, by actor: String, at now: Timestamp
    ) -> (after: Installation?, event: TokenEvent) {
        var after = present
        switch self {
        case .superseded: after = present.retired(as: .superseded, at: now)
        case .unregistered: after = present.retired(as: .unregistered, at: now)
        case .stale: after = present.retired(as: .stale, at: now)
        case .sessionEnded: after = present.unbound(at: now)
        case .purged:
            after.owner = nil
            after.generation += 1
        }
        let event = TokenEvent(
            kind, reason, by: actor, at: present.notBefore(now), from: present, to: after,
            previousUserID: present.owner?.userID)
        return (self == .purged ? nil : after, event)
    }

    /// The state before the step, if the installation lost nothing else; nil: an undo cannot restore it.
    private var formerState: InstallationState? {
        switch self {
        case .stale: .active
        case .unregistered: .suspect
        case .superseded, .sessionEnded, .purged: nil
        }
    }

    /// The installation in its state before this step, and the event of the undo. Nil if the step took more than the
    /// state.
    ///
    /// - Parameter present: the installation as the step has left it.
    public func undone(
        on present: Installation, by actor: String, at now: Timestamp
    ) -> (after: Installation, event: TokenEvent)? {
        guard let formerState else { return nil }
        let after = present.retired(as: formerState, at: now)
        let event = TokenEvent(
            .reactivated, .cleanupUndone, by: actor, at: after.stateChangedAt, from: present, to: after,
            previousUserID: present.owner?.userID)
        return (after, event)
    }

    private var reason: TokenEvent.Reason {
        switch self {
        case .superseded: .reinstalled
        case .unregistered: .suspectSilent
        case .sessionEnded: .sessionExpired
        case .stale: .unseen
        case .purged: .purged
        }
    }

    private var kind: EventKind {
        switch self {
        case .superseded: .superseded
        case .unregistered: .unregistered
        case .sessionEnded: .sessionEnded
        case .stale: .stale
        case .purged: .deleted
        }
    }
}

/// The number of installations of each step, and of typed tokens that had expired and were deleted.
public struct CleanUpCounts: Hashable, Sendable {
    private var counts: [CleanUpStep: Int] = [:]
    public var typedTokens = 0

    public init() {}

    public subscript(step: CleanUpStep) -> Int {
        get { counts[step, default: 0] }
        set { counts[step] = newValue }
    }

    /// Of installations.
    public var total: Int { counts.values.reduce(0, +) }

    /// The number of installations that a judgement retires.
    public var judgements: Int { CleanUpStep.allCases.reduce(0) { $0 + ($1.isJudgement ? self[$1] : 0) } }

    public static func + (left: CleanUpCounts, right: CleanUpCounts) -> CleanUpCounts {
        var sum = left
        for step in CleanUpStep.allCases { sum[step] += right[step] }
        sum.typedTokens += right.typedTokens
        return sum
    }
}

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
        (self.asOf, self.policy) = (asOf, policy)
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
