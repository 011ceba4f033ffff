/// The installations that a batch of feedback is about, locked, and the rules for what a provider's verdict makes of them
/// (R9, and R5 where an installation is probably replaced).
///
/// A value without I/O: a store loads and locks, applies the items in their order, and writes what `changed` and `events` then
/// say. Later items see what earlier ones did.
public struct LockedFeedback: Sendable {
    public private(set) var events: [TokenEvent] = []

    private let app: AppNumber
    private let touchInterval: ISO8601Duration
    private let actor: String
    private let receivedAt: Timestamp
    private let now: Timestamp
    private var present: [InstallID: Installation]
    private var holders: [TokenAddress: InstallID]
    private var changedIDs = Set<InstallID>()

    /// - Parameters:
    ///   - installations: every row of the app that an item names, or that holds an item's token.
    ///   - receivedAt: when the feedback came in. A repetition after a lost race must not make its evidence younger.
    ///   - now: the time of the database, for what is written.
    public init(_ feedback: Feedback, on installations: [Installation], receivedAt: Timestamp, now: Timestamp) {
        app = feedback.app
        touchInterval = feedback.touchInterval
        actor = feedback.actor
        self.receivedAt = receivedAt
        self.now = now
        present = Dictionary(uniqueKeysWithValues: installations.map { ($0.key.installID, $0) })
        holders = Dictionary(
            installations.compactMap { row in row.address.map { ($0, row.key.installID) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// What has to be written, in lock order.
    public var changed: [Installation] {
        changedIDs.compactMap { present[$0] }.sorted { $0.key < $1.key }
    }

    public mutating func apply(_ item: FeedbackItem) -> FeedbackOutcome {
        guard item.canMatter else { return .ignored }
        switch subject(of: item) {
        case .nobody:
            return .unknown
        case .somethingElse:
            return .outdated
        case .installation(let subject):
            guard let verdict = VerdictTable.verdict(on: item.reason, by: subject.provider) else { return .ignored }
            guard let state = conclusion(from: verdict, item, on: subject) else { return .outdated }
            return conclude(state, verdict, on: subject)
        }
    }

    private enum Subject {
        case installation(Installation)
        /// The token has moved, or the installation has another one by now.
        case somethingElse
        case nobody
    }

    private func subject(of item: FeedbackItem) -> Subject {
        let holder = item.addresses.lazy.compactMap { holders[$0] }.first
        guard let installID = item.installID ?? holder else { return .nobody }
        guard let installation = present[installID] else { return holder == nil ? .nobody : .somethingElse }
        guard let address = installation.address, item.addresses.isEmpty || item.addresses.contains(address),
            item.provider == nil || item.provider == installation.provider
        else { return .somethingElse }
        return .installation(installation)
    }

    /// The state that the evidence leads to; nil where the installation registered after it (fine print 22 and 24).
    private func conclusion(
        from verdict: Verdict, _ item: FeedbackItem, on subject: Installation
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

    private mutating func conclude(
        _ state: InstallationState, _ verdict: Verdict, on subject: Installation
    ) -> FeedbackOutcome {
        if state == .unregistered {
            guard subject.state != .unregistered else { return .ignored }
            if subject.probablyReplacedBy == nil { unregister(subject) } else { retire(subject) }
            return .unregistered
        }
        // A suspicion ends the sending. Where nothing is sent anyhow it would only hide why.
        guard subject.state == .active else { return .ignored }
        change(subject, .suspect, verdict == .dead ? .recentlySeen : .tokenRefused) { $0.state = .suspect }
        return .suspect
    }

    private mutating func unregister(_ subject: Installation) {
        change(subject, .unregistered, .tokenDead) { $0.state = .unregistered }
    }

    /// R5: the app was installed anew, and now the older installation's token has failed.
    private mutating func retire(_ subject: Installation) {
        if let address = subject.address { holders[address] = nil }
        change(subject, .superseded, .reinstalled) { after in
            after.state = .superseded
            after.tokenSHA256 = nil
            after.keys = nil
        }
    }

    private mutating func change(
        _ before: Installation, _ kind: EventKind, _ reason: TokenEvent.Reason, _ change: (inout Installation) -> Void
    ) {
        var after = before
        change(&after)
        after.generation += 1
        after.stateChangedAt = now
        present[after.key.installID] = after
        changedIDs.insert(after.key.installID)
        events.append(
            TokenEvent(
                kind, reason, by: actor, at: now, from: before, to: after, previousUserID: before.owner?.userID))
    }
}
