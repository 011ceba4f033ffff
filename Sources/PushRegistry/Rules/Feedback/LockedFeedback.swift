/// The installations that a batch of feedback is about, and the rules for what a provider's verdict makes of them (R9, and R5 where an
/// installation is probably replaced).
///
/// A value without I/O: a store loads, applies the items in their order, and writes what `changes` then say. Later items see what
/// earlier ones did. The store sees to it that nobody else changes the installations meanwhile: by locking them, or by writing
/// only if they still are what they were.
public struct LockedFeedback: Sendable {
    /// What becomes of one installation.
    public struct Change: Sendable {
        public let before: JudgedInstallation
        public fileprivate(set) var after: JudgedInstallation
        /// One for each step.
        public fileprivate(set) var events: [TokenEvent]
    }

    private let app: AppNumber
    private let touchInterval: ISO8601Duration
    private let actor: String
    private let receivedAt: Timestamp
    private let now: Timestamp
    private var present: [JudgedInstallation]
    private let places: [InstallID: Int]
    private var holders: [TokenAddress: Int] = [:]
    private var changesByPlace: [Int: Change] = [:]

    /// - Parameters:
    ///   - installations: every row of the app that an item names, or that holds an item's token.
    ///   - receivedAt: when the feedback came in. A repetition after a lost race must not make its evidence younger.
    ///   - now: the time of the database, for what is written.
    public init(_ feedback: Feedback, on installations: [JudgedInstallation], receivedAt: Timestamp, now: Timestamp) {
        app = feedback.app
        touchInterval = feedback.touchInterval
        actor = feedback.actor
        self.receivedAt = receivedAt
        self.now = now
        present = installations
        places = Dictionary(
            uniqueKeysWithValues: feedback.namesInstallations
                ? installations.indices.map { (installations[$0].installID, $0) } : [])
        holders.reserveCapacity(installations.count)
        for (place, installation) in installations.enumerated() {
            if let address = installation.address(in: app) { holders[address] = place }
        }
    }

    /// What has to be written, in lock order.
    public var changes: [Change] {
        changesByPlace.values.sorted { $0.before.installID.rawValue < $1.before.installID.rawValue }
    }

    /// Whether there is an installation of this id.
    public func has(_ installID: InstallID) -> Bool { places[installID] != nil }

    /// Whether one of the installations holds the token.
    public func holds(_ address: TokenAddress) -> Bool { holders[address] != nil }

    public mutating func apply(_ item: FeedbackItem) -> FeedbackOutcome {
        guard item.canMatter else { return .ignored }
        switch subject(of: item) {
        case .nobody:
            return .unknown
        case .somethingElse:
            return .outdated
        case .installation(let place):
            guard let verdict = VerdictTable.verdict(on: item.reason, by: present[place].provider) else {
                return .ignored
            }
            guard let state = conclusion(from: verdict, item, on: present[place]) else { return .outdated }
            return conclude(state, verdict, on: place)
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
        guard let place = places[installID] else { return holder == nil ? .nobody : .somethingElse }
        guard present[place].tokenSHA256 != nil,
            item.addresses.isEmpty || item.addresses.contains(where: { holders[$0] == place }),
            item.provider == nil || item.provider == present[place].provider
        else { return .somethingElse }
        return .installation(place)
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

    private mutating func conclude(_ state: InstallationState, _ verdict: Verdict, on place: Int) -> FeedbackOutcome {
        if state == .unregistered {
            guard present[place].state != .unregistered else { return .ignored }
            if present[place].isProbablyReplaced { retire(place) } else { change(place, .unregistered, .tokenDead) }
            return .unregistered
        }
        // A suspicion ends the sending. Where nothing is sent anyhow it would only hide why.
        guard present[place].state == .active else { return .ignored }
        change(place, .suspect, verdict == .dead ? .recentlySeen : .tokenRefused)
        return .suspect
    }

    /// R5: the app was installed anew, and now the older installation's token has failed.
    private mutating func retire(_ place: Int) {
        if let address = present[place].address(in: app) { holders[address] = nil }
        change(place, .superseded, .reinstalled)
    }

    /// - Parameter state: of the event that tells it, too.
    private mutating func change(_ place: Int, _ state: InstallationState, _ reason: TokenEvent.Reason) {
        let before = present[place]
        present[place].state = state
        present[place].generation += 1
        if state == .superseded { present[place].tokenSHA256 = nil }
        let event = TokenEvent(of: before, in: app, becoming: state, reason, by: actor, at: now)
        changesByPlace[place, default: Change(before: before, after: before, events: [])].add(event, present[place])
    }
}

extension LockedFeedback.Change {
    fileprivate mutating func add(_ event: TokenEvent, _ after: JudgedInstallation) {
        events.append(event)
        self.after = after
    }
}

extension TokenEvent {
    /// The event of a verdict, which is called as the state that it leads to. The owner stays.
    fileprivate init(
        of before: JudgedInstallation, in app: AppNumber, becoming state: InstallationState, _ reason: Reason,
        by actor: String, at: Timestamp
    ) {
        let kind: EventKind =
            switch state {
            case .superseded: .superseded
            case .suspect: .suspect
            default: .unregistered
            }
        self.init(
            InstallationKey(app: app, installID: before.installID), kind, reason, by: actor, at: at,
            provider: before.provider, tokenSHA256: before.tokenSHA256, userID: before.userID,
            previousUserID: before.userID, state: state, generationBefore: before.generation,
            generationAfter: before.generation + 1)
    }
}
