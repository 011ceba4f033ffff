/// What an administrator decides about the verdicts of a provider (R9): that they were right, or that they were wrong.
public struct FeedbackRepair: Sendable {
    public enum Decision: Hashable, Sendable {
        /// What the breaker holds becomes unregistered; held typed tokens are removed.
        case release
        /// What dead verdicts have made unregistered or suspect since this time becomes active; held typed tokens are
        /// handed out.
        case restore(since: Timestamp)
    }

    public let app: AppNumber
    public let provider: Provider
    public let decision: Decision
    /// Whether installations are only counted.
    public let isDryRun: Bool
    /// The caller's role and key id.
    public let actor: String
    /// For the audit, in the first transaction that changes something; nil: none, or it is written.
    public var entry: AuditEntry?

    public init(
        of app: AppNumber, provider: Provider, _ decision: Decision, isDryRun: Bool, actor: String,
        recording entry: AuditEntry? = nil
    ) {
        (self.app, self.provider, self.decision) = (app, provider, decision)
        (self.isDryRun, self.actor, self.entry) = (isDryRun, actor, entry)
    }

    /// Whether an event has left an installation in a state that the decision changes.
    public func concerns(_ event: RecordedEvent) -> Bool {
        guard event.provider == provider.rawValue else { return false }
        guard case .restore(let since) = decision else { return event.has(.suspect, [.feedbackBreaker]) }
        return event.at >= since
            && (event.has(.suspect, [.feedbackBreaker, .recentlySeen])
                || event.has(.unregistered, [.feedbackBreaker, .tokenDead]))
    }

    /// Whether the decision is about a typed token. One that was registered again or has moved is not held any more.
    func concerns(_ token: TypedToken) -> Bool {
        guard let heldAt = token.heldAt, token.token.provider == provider else { return false }
        return includes(heldAt)
    }

    /// Of a restoration.
    public var since: Timestamp? {
        if case .restore(let since) = decision { since } else { nil }
    }

    /// Whether the decision is about everything that was held at this time or later.
    public func includes(_ heldSince: Timestamp) -> Bool { since.map { heldSince >= $0 } ?? true }

    /// The installation after the decision, and its event. Nil if it has changed since: it registered, moved, or was
    /// logged out. Nil also if a verdict has made it unregistered that had been logged out before, and got no pushes.
    ///
    /// - Parameters:
    ///   - generation: after the event that concerns it.
    ///   - isKeptAnonymous: whether it stayed active when it was logged out before.
    public func outcome(
        for present: Installation, after generation: Int64, isKeptAnonymous: Bool = false, at now: Timestamp
    ) -> (after: Installation, event: TokenEvent)? {
        guard present.generation == generation, present.provider == provider else { return nil }
        let isRelease = decision == .release
        guard isRelease || present.state != .unregistered || !present.isLoggedOut || isKeptAnonymous else { return nil }
        let after = present.retired(as: isRelease ? .unregistered : .active, at: now)
        let event = TokenEvent(
            isRelease ? .unregistered : .reactivated, isRelease ? .feedbackBreaker : .feedbackRestored, by: actor,
            at: after.stateChangedAt, from: present, to: after, previousUserID: present.owner?.userID)
        return (after, event)
    }
}

extension RecordedEvent {
    fileprivate func has(_ kind: EventKind, _ reasons: [TokenEvent.Reason]) -> Bool {
        self.kind == kind.rawValue && reasons.contains { $0.rawValue == reason }
    }
}
