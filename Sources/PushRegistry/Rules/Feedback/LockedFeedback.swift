/// The installations that a batch of feedback is about, and the rules for what a provider's verdict makes of them (R9,
/// and R5 where an installation is probably replaced).
///
/// A value without I/O: a store loads, applies the items in their order, and writes what `changes` then says. Later
/// items see what earlier ones did. The store sees to it that nobody else changes the installations meanwhile: it locks
/// them, or writes only if they are what they were.
public struct LockedFeedback: Sendable {
    /// One change of state. It raises the generation by one, and the event that records it is named after the state.
    public struct Step: Hashable, Sendable {
        public let from: InstallationState
        public let to: InstallationState
        public let reason: TokenEvent.Reason
    }

    /// What becomes of one installation.
    public struct Change: Sendable {
        /// Its index in the installations that were given.
        public let index: Int
        public let before: JudgedInstallation
        public fileprivate(set) var after: JudgedInstallation
        public fileprivate(set) var steps: [Step]
    }

    private let app: AppNumber
    private let touchInterval: ISO8601Duration
    private let receivedAt: Timestamp
    private var present: [JudgedInstallation]
    private let indices: [InstallID: Int]
    private var holders: [TokenAddress: Int] = [:]
    private var changesByIndex: [Int: Change] = [:]

    /// - Parameters:
    ///   - installations: every row of the app that an item names, or that holds an item's token.
    ///   - receivedAt: when the feedback came in. A repetition after a lost race must not make its evidence younger.
    public init(_ feedback: Feedback, on installations: [JudgedInstallation], receivedAt: Timestamp) {
        app = feedback.app
        touchInterval = feedback.touchInterval
        self.receivedAt = receivedAt
        present = installations
        indices = Dictionary(
            uniqueKeysWithValues: feedback.namesInstallations
                ? installations.indices.map { (installations[$0].installID, $0) } : [])
        holders.reserveCapacity(installations.count)
        for (index, installation) in installations.enumerated() {
            if let address = installation.address(in: app) { holders[address] = index }
        }
    }

    /// What has to be written, in lock order.
    public var changes: [Change] {
        changesByIndex.values.sorted { $0.before.installID.rawValue < $1.before.installID.rawValue }
    }

    public mutating func apply(_ item: FeedbackItem) -> FeedbackOutcome {
        guard item.canMatter else { return .ignored }
        switch subject(of: item) {
        case .nobody:
            return .unknown
        case .somethingElse:
            return .outdated
        case .installation(let index):
            guard let verdict = VerdictTable.verdict(on: item.reason, by: present[index].provider) else {
                return .ignored
            }
            guard let state = conclusion(from: verdict, item, on: present[index]) else { return .outdated }
            return conclude(state, verdict, on: index)
        }
    }

    private enum Subject {
        case installation(Int)
        /// The token has moved, or the installation has another one by now.
        case somethingElse
        case nobody
    }

    private func subject(of item: FeedbackItem) -> Subject {
        let holder = item.addresses.lazy.compactMap { holders[$0] }.first
        guard let installID = item.installID else { return holder.map(Subject.installation) ?? .nobody }
        guard let index = indices[installID] else { return holder == nil ? .nobody : .somethingElse }
        guard present[index].tokenSHA256 != nil,
            item.addresses.isEmpty || item.addresses.contains(where: { holders[$0] == index }),
            item.provider == nil || item.provider == present[index].provider
        else { return .somethingElse }
        return .installation(index)
    }

    /// The state that the evidence leads to; nil where the installation registered after it (fine print 22 and 24).
    private func conclusion(
        from verdict: Verdict, _ item: FeedbackItem, on subject: JudgedInstallation
    ) -> InstallationState? {
        let evidenceAt = min(item.at ?? receivedAt, receivedAt)
        guard evidenceAt > subject.lastSeenAt else { return nil }
        // A verdict's own change of state raises the generation and does not make its successors old.
        if let generation = item.generation,
            generation < subject.registrationGeneration || generation > subject.generation
        {
            return nil
        }
        // Within the touch interval an unchanged registration may have gone unrecorded after the evidence.
        let isSettled = evidenceAt >= subject.lastSeenAt.advanced(by: touchInterval)
        return verdict == .dead && isSettled ? .unregistered : .suspect
    }

    private mutating func conclude(_ state: InstallationState, _ verdict: Verdict, on index: Int) -> FeedbackOutcome {
        let present = present[index]
        if state == .unregistered {
            guard present.state != .unregistered else { return .ignored }
            if present.isProbablyReplaced { retire(index) } else { change(index, .unregistered, .tokenDead) }
            return .unregistered
        }
        // A suspicion ends the sending. Where nothing is sent anyhow it would only hide why.
        guard present.state == .active || present.state == .suspect && present.isProbablyReplaced else {
            return .ignored
        }
        if present.isProbablyReplaced {
            retire(index)
        } else {
            change(index, .suspect, verdict == .dead ? .recentlySeen : .tokenRefused)
        }
        return .suspect
    }

    /// R5, fine print 11: the app was installed anew, and now a verdict fails the older installation's token.
    private mutating func retire(_ index: Int) {
        if let address = present[index].address(in: app) { holders[address] = nil }
        change(index, .superseded, .reinstalled)
    }

    private mutating func change(_ index: Int, _ state: InstallationState, _ reason: TokenEvent.Reason) {
        let before = present[index]
        present[index].state = state
        present[index].generation += 1
        if state == .superseded { present[index].tokenSHA256 = nil }
        changesByIndex[index, default: Change(index: index, before: before, after: before, steps: [])]
            .add(Step(from: before.state, to: state, reason: reason), present[index])
    }
}

extension LockedFeedback.Change {
    fileprivate mutating func add(_ step: LockedFeedback.Step, _ after: JudgedInstallation) {
        steps.append(step)
        self.after = after
    }
}
