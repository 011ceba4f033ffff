import Foundation

extension RegistrationMachine {
    /// A report of the app that must outlive the process.
    enum Event: Sendable, Hashable {
        case signIn
        case signOut(keepAnonymous: Bool)
        case choose(SavedState.Topics)
        case receive(ReportedToken)
        case invalidate(ReportedToken.ID)
    }

    /// The most events that are kept while the storage cannot be read. Further events replace the oldest ones.
    static let earlyEventsMax = 64

    /// - Returns: the logout that was queued; nil if there was no user to log out.
    @discardableResult
    mutating func handle(_ event: Event, at now: Date) -> UUID? {
        guard isLoaded else {
            early = early.suffix(Self.earlyEventsMax - 1) + [event]
            if case .signIn = event { hasCredential = true }
            return nil
        }
        switch event {
        case .signIn: signIn(at: now)
        case .signOut(let keepAnonymous): return signOut(keepAnonymous: keepAnonymous, at: now)
        case .choose(let topics): choose(topics)
        case .receive(let token): receive(token, at: now)
        case .invalidate(let id): invalidate(id, at: now)
        }
        return nil
    }

    mutating func didRegister(_ token: PushRegistryClient.DeviceToken, at now: Date) {
        self.token = token
        tokenFailure = nil
        refresh(at: now)
    }

    /// The device may have changed, or the network is available again.
    mutating func refresh(at now: Date) {
        deviceIsStale = true
        retry?.hurry(at: now)
        receiptRetry?.hurry(at: now)
        if let halt, halt.mayPass, now >= halt.at + Self.haltSecondsMin { self.halt?.until = now }
    }

    mutating func receiptStored() {
        hasReceipts = true
    }

    private mutating func signIn(at now: Date) {
        if saved.account == .anonymous {
            saved.topics = saved.anonymousTopics.merging(saved.topics) { $1 }
        }
        saved.anonymousTopics = [:]
        saved.account = .user
        replacedCredential = lastCredential ?? replacedCredential
        beginTurn()
        hasCredential = true
        ownerIsUnchecked = true
        retry?.hurry(at: now)
    }

    private mutating func signOut(keepAnonymous: Bool, at now: Date) -> UUID? {
        let isOwned = (saved.registration?.owner ?? saved.attempt?.owner) != nil
        let isRegistered = saved.registration != nil || saved.attempt != nil
        let isHere = saved.account == .user || saved.account == .anonymous
        if let replacedCredential {
            // The registry may not know the next user yet: then the installation still belongs to the replaced one.
            queue(
                QueuedLogout(
                    installID: saved.installID, credential: replacedCredential, isUncertain: true,
                    keepAnonymous: keepAnonymous))
        }
        var logout: QueuedLogout?
        if isHere, isOwned || isRegistered && !keepAnonymous {
            let queued = QueuedLogout(
                installID: saved.installID, credential: lastCredential,
                deliveryKey: saved.registration?.owner == nil ? nil : saved.delivery?.key, eTag: saved.eTag,
                isUncertain: saved.attempt != nil, keepAnonymous: keepAnonymous)
            queue(queued)
            if lastCredential == nil, hasCredential { openLogouts.insert(queued.id) }
            logoutTurns[queued.id] = turn
            logout = queued
        }
        saved.account = keepAnonymous ? .anonymous : .signedOut
        let remaining: Set<PushRegistryClient.TokenKind> = keepAnonymous ? [.widget, .complication] : []
        forgetUser(keeping: remaining)
        retry?.hurry(at: now)
        return logout?.id
    }

    private mutating func queue(_ logout: QueuedLogout) {
        logouts = logouts.suffix(QueuedLogout.countMax - 1) + [logout]
    }

    private mutating func choose(_ topics: SavedState.Topics) {
        saved.topics.merge(topics) { $1 }
        if saved.account == .anonymous { saved.anonymousTopics.merge(topics) { $1 } }
    }

    /// Removes everything about a user who has signed out.
    ///
    /// - Parameter kinds: the tokens that the registry keeps.
    mutating func forgetUser(keeping kinds: Set<PushRegistryClient.TokenKind> = []) {
        saved.user = nil
        saved.tokens?.removeAll { $0.text == nil || !kinds.contains($0.id.kind) }
        saved.registration = nil
        saved.delivery = nil
        saved.topics = [:]
        saved.anonymousTopics = [:]
        hasCredential = false
        replacedCredential = nil
        ownerIsUnchecked = false
        beginTurn()
    }

    private mutating func beginTurn() {
        turn += 1
        freshCredential = nil
        lastCredential = nil
        isRenewed = false
        halt = nil
    }
}
