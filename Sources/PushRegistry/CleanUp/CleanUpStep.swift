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

    /// The reason that the event records.
    public var reason: TokenEvent.Reason {
        switch self {
        case .superseded: .reinstalled
        case .unregistered: .suspectSilent
        case .sessionEnded: .sessionExpired
        case .stale: .unseen
        case .purged: .purged
        }
    }

    public var event: EventKind {
        switch self {
        case .superseded: .superseded
        case .unregistered: .unregistered
        case .sessionEnded: .sessionEnded
        case .stale: .stale
        case .purged: .deleted
        }
    }
}

/// The number of installations of each step.
public struct CleanUpCounts: Hashable, Sendable {
    private var counts: [CleanUpStep: Int] = [:]

    public init() {}

    public subscript(step: CleanUpStep) -> Int {
        get { counts[step, default: 0] }
        set { counts[step] = newValue }
    }

    public var total: Int { counts.values.reduce(0, +) }

    /// The number of installations that a judgement retires.
    public var judgements: Int { CleanUpStep.allCases.reduce(0) { $0 + ($1.isJudgement ? self[$1] : 0) } }

    public static func + (left: CleanUpCounts, right: CleanUpCounts) -> CleanUpCounts {
        var sum = left
        for step in CleanUpStep.allCases { sum[step] += right[step] }
        return sum
    }
}
