/// The installations that a batch of feedback concerns, and the rules by which verdicts change them (R9; R5 for those
/// that are probably replaced). A breaker holds dead verdicts that are too many (`FeedbackHour`).
///
/// A value without I/O: a store loads the rows, applies the items in order and writes `changes`. Later items see the
/// effects of earlier ones. The store must exclude concurrent changes: it locks the rows, or writes them only if they
/// have not changed.
public struct LockedFeedback: Sendable {
    /// The changes of one installation.
    public struct Change: Sendable {
        /// The index in the `installations` of `init`.
        public let index: Int
        public fileprivate(set) var after: Installation
        /// One for each step: an increment of the generation.
        public fileprivate(set) var events: [TokenEvent]
    }

    private let feedback: Feedback
    private let receivedAt: Timestamp
    private let now: Timestamp
    private var current: [Installation]
    private let indices: [InstallID: Int]
    private var holders: [TokenAddress: Int] = [:]
    private var changesByIndex: [Int: Change] = [:]
    /// The dead verdicts of the hour, of which some are of this call.
    public private(set) var hours: [FeedbackHour.Key: FeedbackHour]

    /// - Parameters:
    ///   - installations: every row of the app that an item names or that holds an item's token.
    ///   - hours: the present counts of dead verdicts; one that is missing begins.
    ///   - receivedAt: when the call arrived. A retry after a lost race must not make the evidence younger.
    ///   - now: the time of the changes.
    public init(
        _ feedback: Feedback, on installations: [Installation], hours: [FeedbackHour.Key: FeedbackHour] = [:],
        receivedAt: Timestamp, now: Timestamp
    ) {
        (self.feedback, self.receivedAt, self.now, self.hours) = (feedback, receivedAt, now, hours)
        current = installations
        indices = Dictionary(
            uniqueKeysWithValues: feedback.namesInstallations
                ? installations.indices.map { (installations[$0].key.installID, $0) } : [])
        holders.reserveCapacity(installations.count)
        for (index, installation) in installations.enumerated() {
            if let address = installation.address { holders[address] = index }
        }
    }

    /// The rows to write, in lock order.
    public var changes: [Change] {
        changesByIndex.values.sorted { $0.after.key < $1.after.key }
    }

    public mutating func apply(_ item: FeedbackItem) -> FeedbackOutcome {
        guard item.canMatter else { return .ignored }
        switch subject(of: item) {
        case .unknown:
            return .unknown
        case .moved:
            return .outdated
        case .installation(let index):
            guard let verdict = VerdictTable.verdict(on: item.reason, by: current[index].provider) else {
                return .ignored
            }
            guard let state = newState(from: verdict, item, on: current[index]) else { return .outdated }
            return apply(state, verdict, to: index)
        }
    }

    private enum Subject {
        case installation(Int)
        /// The token moved to another installation, or the installation has another token now.
        case moved
        case unknown
    }

    private func subject(of item: FeedbackItem) -> Subject {
        let holder = item.addresses.lazy.compactMap { holders[$0] }.first
        guard let installID = item.installID else { return holder.map(Subject.installation) ?? .unknown }
        guard let index = indices[installID] else { return holder == nil ? .unknown : .moved }
        guard current[index].tokenSHA256 != nil,
            item.addresses.isEmpty || item.addresses.contains(where: { holders[$0] == index }),
            item.provider == nil || item.provider == current[index].provider
        else { return .moved }
        return .installation(index)
    }

    /// The state that follows from the evidence; nil if the installation registered after it (fine print 22 and 24).
    private func newState(
        from verdict: Verdict, _ item: FeedbackItem, on subject: Installation
    ) -> InstallationState? {
        let evidenceAt = min(item.at ?? receivedAt, receivedAt)
        guard evidenceAt > subject.lastSeenAt else { return nil }
        // Verdicts raise the generation too; only a registration makes later feedback outdated.
        if let generation = item.generation,
            generation < subject.registrationGeneration || generation > subject.generation
        {
            return nil
        }
        // Within the touch interval, an unchanged registration after the evidence may not have been recorded.
        let isConclusive = evidenceAt >= subject.lastSeenAt.advanced(by: feedback.touchInterval)
        return verdict == .dead && isConclusive ? .unregistered : .suspect
    }

    private mutating func apply(_ state: InstallationState, _ verdict: Verdict, to index: Int) -> FeedbackOutcome {
        let before = current[index]
        if state == .unregistered {
            guard before.state != .unregistered else { return .ignored }
            if let held = held(verdict, on: index) { return held }
            if before.probablyReplacedBy != nil { retire(index) } else { change(index, .unregistered, .tokenDead) }
            return .unregistered
        }
        // `suspect` stops the sending. In a state that already does, it would only hide the reason.
        guard before.state == .active || before.state == .suspect && before.probablyReplacedBy != nil else {
            return .ignored
        }
        if let held = held(verdict, on: index) { return held }
        if before.probablyReplacedBy != nil {
            retire(index)
        } else {
            change(index, .suspect, verdict == .dead ? .recentlySeen : .tokenRefused)
        }
        return .suspect
    }

    /// The outcome of a dead verdict that the breaker does not believe; else nil.
    private mutating func held(_ verdict: Verdict, on index: Int) -> FeedbackOutcome? {
        guard verdict == .dead, let breaker = feedback.breaker else { return nil }
        let (provider, isActive) = (current[index].provider, current[index].state == .active)
        var hour = hours[.init(provider)] ?? FeedbackHour(nil, at: now)
        defer { hours[.init(provider)] = hour }
        switch hour.judge(by: breaker, isOnActive: isActive) {
        case .believed: return nil
        case .ignored: return .ignored
        case .held:
            change(index, .suspect, .feedbackBreaker)
            return .held
        }
    }

    /// R5, fine print 11: the app was reinstalled, and a verdict now confirms that the older token no longer works.
    private mutating func retire(_ index: Int) {
        if let address = current[index].address { holders[address] = nil }
        change(index, .superseded, .reinstalled)
    }

    /// One step. It increments the generation and is recorded by an event named after the new state.
    private mutating func change(_ index: Int, _ state: InstallationState, _ reason: TokenEvent.Reason) {
        let before = current[index]
        let after = before.retired(as: state, at: now)
        current[index] = after
        let event = TokenEvent(
            state.verdictKind, reason, by: feedback.actor, at: after.stateChangedAt, from: before, to: after,
            previousUserID: before.owner?.userID)
        changesByIndex[index, default: Change(index: index, after: after, events: [])].add(after, event)
    }
}

extension LockedFeedback.Change {
    fileprivate mutating func add(_ after: Installation, _ event: TokenEvent) {
        self.after = after
        events.append(event)
    }
}

extension InstallationState {
    /// The kind of the event of a verdict that leads to this state.
    fileprivate var verdictKind: EventKind {
        switch self {
        case .superseded: .superseded
        case .suspect: .suspect
        default: .unregistered
        }
    }
}
