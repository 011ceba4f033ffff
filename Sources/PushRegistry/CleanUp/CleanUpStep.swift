/// What the night job does to an installation; at most one of these in a run.
public enum CleanUpStep: String, CaseIterable, Sendable {
    /// R5: probably replaced, and silent for the grace period. Its token goes.
    case superseded
    /// R9: suspect, and silent for the grace period.
    case unregistered
    /// R7: its session has expired. It is unbound.
    case sessionEnded
    /// R11: unseen for longer than its app and provider allow.
    case stale
    /// R11: out of `active` for longer than the app keeps it. It is removed; its history stays.
    case purged

    /// Whether it is the job's own judgement that takes an installation out of use.
    public var isJudgement: Bool {
        switch self {
        case .superseded, .unregistered, .stale: true
        case .sessionEnded, .purged: false
        }
    }

    /// Why, as the event says it.
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

/// How many installations each step concerns.
public struct CleanUpCounts: Hashable, Sendable {
    private var counts: [CleanUpStep: Int] = [:]

    public init() {}

    public subscript(step: CleanUpStep) -> Int {
        get { counts[step, default: 0] }
        set { counts[step] = newValue }
    }

    public var total: Int { counts.values.reduce(0, +) }

    /// How many leave use by a judgement.
    public var judgements: Int { CleanUpStep.allCases.reduce(0) { $0 + ($1.isJudgement ? self[$1] : 0) } }

    public static func + (left: CleanUpCounts, right: CleanUpCounts) -> CleanUpCounts {
        var sum = left
        for step in CleanUpStep.allCases { sum[step] += right[step] }
        return sum
    }
}
