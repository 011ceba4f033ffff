/// The installations that a batch of feedback concerns, and the rules by which verdicts change them (R9; R5 for those
/// that are probably replaced). A verdict on a typed token removes it alone. A breaker holds dead verdicts that are too
/// many (`FeedbackHour`).
///
/// A value without I/O: a store loads the rows, applies the items in order and writes `changes`. Later items see the
/// effects of earlier ones. The store must exclude concurrent changes: it locks the rows, or writes them only if they
/// have not changed.
public struct LockedFeedback: Sendable {
    /// The changes of one installation.
    public struct Change: Sendable {
        /// The index in the `installations` of `init`.
        public let index: Int
        public let after: Installation
        /// One for each step: an increment of the generation. None if only typed tokens change.
        public let events: [TokenEvent]
        /// Whether its set of typed tokens changes.
        public let changesTokens: Bool
    }

    private let feedback: Feedback
    private let receivedAt: Timestamp
    private let now: Timestamp
    private var current: [Installation]
    private let indices: [InstallID: Int]
    /// The typed tokens of `wanted`; nil: they were not loaded.
    public private(set) var tokens: LockedTokens?
    /// What `tokens` must have been loaded for; else the store loads it, and the items are applied again.
    public private(set) var wanted = TypedSubjects()
    /// How many typed tokens were removed.
    public private(set) var removed: [TokenKind: Int] = [:]
    private var holders: [TokenAddress: Int] = [:]
    private var events: [Int: [TokenEvent]] = [:]
    /// The dead verdicts of the hour, of which some are of this call.
    public private(set) var hours: [FeedbackHour.Key: FeedbackHour]
    /// Of the items that were applied.
    public private(set) var counts = FeedbackCounts()

    /// What items name that is not about a main token.
    public struct TypedSubjects: Sendable {
        public fileprivate(set) var addresses: Set<TypedTokenAddress> = []
        public fileprivate(set) var installIDs: Set<InstallID> = []

        public init() {}

        public var isEmpty: Bool { addresses.isEmpty && installIDs.isEmpty }

        public func isCovered(by other: TypedSubjects) -> Bool {
            addresses.isSubset(of: other.addresses) && installIDs.isSubset(of: other.installIDs)
        }
    }

    /// - Parameters:
    ///   - installations: every row of the app that an item names or that holds an item's token.
    ///   - tokens: the sets of the installations that are named in `wanted`, or hold a token of it. These are among
    ///     `installations`.
    ///   - hours: the present counts of dead verdicts; one that is missing begins.
    ///   - receivedAt: when the call arrived. A retry after a lost race must not make the evidence younger.
    ///   - now: the time of the changes.
    public init(
        _ feedback: Feedback, on installations: [Installation], tokens: LockedTokens? = nil,
        hours: [FeedbackHour.Key: FeedbackHour] = [:], receivedAt: Timestamp, now: Timestamp
    ) {
        (self.feedback, self.receivedAt, self.now, self.hours) = (feedback, receivedAt, now, hours)
        current = installations
        self.tokens = tokens
        let isIndexed = feedback.namesInstallations || tokens != nil
        indices = Dictionary(
            uniqueKeysWithValues: isIndexed
                ? installations.indices.map { (installations[$0].key.installID, $0) } : [])
        holders.reserveCapacity(installations.count)
        for (index, installation) in installations.enumerated() {
            if let address = installation.address { holders[address] = index }
        }
    }

    /// The rows to write, in lock order.
    public var changes: [Change] {
        let disturbed = tokens?.disturbed ?? []
        let others = disturbed.isEmpty ? [] : current.indices.filter { disturbed.contains(current[$0].key) }
        let changed = Set(events.keys).union(others).sorted { current[$0].key < current[$1].key }
        return changed.map { index in
            let after = current[index]
            return Change(
                index: index, after: after, events: events[index] ?? [], changesTokens: disturbed.contains(after.key))
        }
    }

    @discardableResult
    public mutating func apply(_ item: FeedbackItem) -> FeedbackOutcome {
        let outcome = judge(item)
        counts.count(outcome)
        return outcome
    }

    private mutating func judge(_ item: FeedbackItem) -> FeedbackOutcome {
        guard item.needsInstallation else { return ignore(item, by: item.provider) }
        let holder = holder(of: item)
        if item.kind != nil || holder == nil, let outcome = judgeTyped(item) { return outcome }
        switch subject(of: item, heldBy: holder) {
        case .unknown:
            return item.canMatter ? .unknown : ignore(item, by: item.provider)
        case .moved:
            return item.canMatter ? .outdated : ignore(item, by: item.provider)
        case .installation(let index):
            if item.isOfOtherSpelling(than: current[index]) { return .outdated }
            guard let verdict = item.verdict(by: current[index].provider) else {
                return ignore(item, by: current[index].provider)
            }
            guard let state = newState(from: verdict, item, on: current[index]) else { return .outdated }
            return apply(state, verdict, to: index)
        }
    }

    /// - Parameter provider: nil if neither the item nor an installation determines it.
    private mutating func ignore(_ item: FeedbackItem, by provider: Provider?) -> FeedbackOutcome {
        let isListed =
            provider.map { VerdictTable.row(of: item.reason, by: $0) != nil } ?? VerdictTable.names(item.reason)
        if !isListed { counts.count(reason: item.reason) }
        return .ignored
    }

    private enum Subject {
        case installation(Int)
        /// The token moved to another installation, or the installation has another token now.
        case moved
        case unknown
    }

    /// The installation that has the item's token as its main one.
    private func holder(of item: FeedbackItem) -> Int? {
        item.addresses.lazy.compactMap { holders[$0] }.first
    }

    private func subject(of item: FeedbackItem, heldBy holder: Int?) -> Subject {
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
        guard isCurrent(item, at: evidenceAt, on: subject) else { return nil }
        // Within the touch interval, an unchanged registration after the evidence may not have been recorded.
        let isConclusive = evidenceAt >= subject.lastSeenAt.advanced(by: feedback.touchInterval)
        return verdict == .dead && isConclusive ? .unregistered : .suspect
    }

    /// Whether the installation has not registered after the evidence.
    private func isCurrent(_ item: FeedbackItem, at evidenceAt: Timestamp, on subject: Installation) -> Bool {
        guard evidenceAt > subject.lastSeenAt else { return false }
        // Verdicts raise the generation too; only a registration makes later feedback outdated.
        return item.generation.map { $0 >= subject.registrationGeneration && $0 <= subject.generation } ?? true
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
        guard verdict == .dead else { return nil }
        switch judgement(on: .init(current[index].provider), isOnActive: current[index].state == .active) {
        case .believed: return nil
        case .ignored: return .ignored
        case .held:
            change(index, .suspect, .feedbackBreaker)
            return .held
        }
    }

    private mutating func judgement(on key: FeedbackHour.Key, isOnActive: Bool) -> FeedbackHour.Judgement {
        guard let breaker = feedback.breaker else { return .believed }
        var hour = hours[key] ?? FeedbackHour(nil, at: now)
        defer { hours[key] = hour }
        return hour.judge(by: breaker, isOnActive: isOnActive)
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
        tokens?.end(Installation.endedKinds(from: before, to: after), on: before.key)
        events[index, default: []].append(
            TokenEvent(
                state.verdictKind, reason, by: feedback.actor, at: after.stateChangedAt, from: before, to: after,
                previousUserID: before.owner?.userID))
    }
}

// MARK: - Typed tokens

extension LockedFeedback {
    private typealias Typed = (holder: InstallationKey, token: TypedToken)

    /// Nil if the item is not about typed tokens. A text that is a main and a typed token means the main one.
    private mutating func judgeTyped(_ item: FeedbackItem) -> FeedbackOutcome? {
        let addresses = item.typedAddresses
        guard item.kind != nil || !addresses.isEmpty else { return nil }
        wanted.addresses.formUnion(addresses)
        if item.kind != nil, let installID = item.installID { wanted.installIDs.insert(installID) }
        guard let tokens else { return item.kind == nil ? nil : .unknown }
        var found = addresses.flatMap { address -> [Typed] in
            guard let holder = tokens.holder(of: address) else { return [] }
            return tokens.present(on: holder).filter { $0.address == address }.map { (holder, $0) }
        }.filter { item.admits($0.token.token.provider) }
        let named = item.installID.map { InstallationKey(app: feedback.app, installID: $0) }
        if let named, let kind = item.kind {
            let present = tokens.present(on: named).filter {
                $0.key.kind == kind && (item.name == nil || item.name == $0.key.name)
            }
            if item.addresses.isEmpty { found = present.map { (named, $0) } }
            if found.isEmpty, !present.isEmpty { return .outdated }
        }
        guard !found.isEmpty else { return item.kind == nil ? nil : .unknown }
        guard named.map({ key in found.allSatisfy { $0.holder == key } }) ?? true else { return .outdated }
        return remove(found, by: item)
    }

    private mutating func remove(_ found: [Typed], by item: FeedbackItem) -> FeedbackOutcome {
        guard found.contains(where: { item.removesTypedToken(of: $0.token.token.provider) }) else {
            return ignore(item, by: found[0].token.token.provider)
        }
        let subjects = found.filter { typed in
            guard let index = indices[typed.holder.installID] else { return false }
            let evidenceAt = min(item.at ?? receivedAt, receivedAt)
            return evidenceAt > typed.token.receivedAt && isCurrent(item, at: evidenceAt, on: current[index])
        }
        guard !subjects.isEmpty else { return .outdated }
        let outcomes = Dictionary(grouping: subjects, by: \.token.address).values.map { retire($0) }
        return [.unregistered, .held].first(where: outcomes.contains) ?? .ignored
    }

    /// - Parameter names: one token of one installation, under each of its names.
    private mutating func retire(_ names: [Typed]) -> FeedbackOutcome {
        let (holder, token) = names[0]
        let isActive = indices[holder.installID].map { current[$0].state == .active } ?? false
        let key = FeedbackHour.Key(token.token.provider, kind: token.key.kind.rawValue)
        let isHandedOut = isActive && names.contains { !$0.token.isHeld }
        switch judgement(on: key, isOnActive: isHandedOut) {
        case .ignored: return .ignored
        case .held:
            for name in names { tokens?.hold(name.token.key, on: holder) }
            return .held
        case .believed:
            for name in names { tokens?.remove(name.token.key, on: holder) }
            removed[token.key.kind, default: 0] += names.count
            return .unregistered
        }
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
