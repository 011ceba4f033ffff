import Foundation

// The outcomes that the driver reports.
extension RegistrationMachine {
    mutating func deviceRead(_ snapshot: PushRegistryClient.DeviceSnapshot) {
        self.snapshot = snapshot
        guard let fingerprint = snapshot.fingerprint else { return }
        if let known = saved.fingerprint, known != fingerprint {
            // The other device keeps its tokens, too.
            saved.tokens?.removeAll { !reportedTokens.contains($0.id) }
            becomeNewInstallation()
        }
        saved.fingerprint = fingerprint
    }

    /// Begins a new installation: the state was copied from another device, which keeps its installation. Logouts name
    /// theirs, so this device may send them, too.
    private mutating func becomeNewInstallation() {
        let old = saved
        saved = SavedState(installID: UUID().uuidString)
        saved.account = old.account
        // The registry has the choices that were made without a user on the old installation alone.
        saved.topics = old.anonymousTopics.merging(old.topics) { $1 }
        saved.anonymousTopics = old.anonymousTopics
        saved.tokens = old.tokens
    }

    mutating func credential(_ credential: String, turn: Int) {
        guard turn == self.turn else { return }
        freshCredential = credential
    }

    mutating func logoutCredential(_ credential: String?, id: UUID) {
        openLogouts.remove(id)
        updateLogout(id) { $0.credential = credential }
    }

    mutating func deviceUnavailable(at now: Date, jitter: Double) {
        deviceIsStale = true
        unavailable(at: now, jitter: jitter)
    }

    /// The credential or the storage is not available now.
    mutating func unavailable(at now: Date, jitter: Double) {
        retry = Retry(after: retry, response: nil, at: now, jitter: jitter)
    }

    mutating func receiptsSent(_ response: PushRegistryClient.Response?, remain: Bool, at now: Date, jitter: Double) {
        let isRetried = response?.asksForRetry ?? true
        receiptRetry = isRetried ? Retry(after: receiptRetry, response: response, at: now, jitter: jitter) : nil
        hasReceipts = remain
    }

    /// - Parameter response: nil if there was none.
    mutating func finished(
        _ call: Call, _ response: PushRegistryClient.Response?, at now: Date, jitter: Double
    ) {
        guard let response, !response.asksForRetry else {
            retry = Retry(after: retry, response: response, at: now, jitter: jitter)
            return
        }
        switch call.purpose {
        case .logout(let id):
            retry = nil
            logoutFinished(id, response)
        case .token(let change):
            let isAcknowledged = isResult(response, of: change)
            guard !response.isSuccess || isAcknowledged else {
                retry = Retry(after: retry, response: nil, at: now, jitter: jitter)
                return
            }
            retry = nil
            guard call.turn == turn else { return }
            if isAcknowledged { tokensSent([change]) } else { tokenRefused(change, response) }
        case .registration(let attempt, let topics, let tokens, let open):
            guard response.isSuccess else {
                retry = nil
                saved.attempt = open
                guard call.turn == turn, !tokensRefused(tokens, response.problem) else { return }
                refused(attempt, response, at: now)
                return
            }
            guard let result = try? JSONDecoder().decode(RegistrationResult.self, from: response.body),
                result.installId == saved.installID, let until = result.until
            else {
                // Not a response of the registry: for example, of a captive portal.
                retry = Retry(after: retry, response: nil, at: now, jitter: jitter)
                return
            }
            retry = nil
            registered(attempt, topics, result, until: until, isCurrent: call.turn == turn, turn: call.turn, at: now)
            if call.turn == turn {
                tokensSent(tokens ?? [])
                registersTokens = false
            }
        }
    }

    /// Not of a captive portal.
    private func isResult(_ response: PushRegistryClient.Response, of change: ReportedToken) -> Bool {
        struct Result: Decodable {
            var installId: String
        }
        if change.text == nil { return response.status == 204 }
        return response.isSuccess
            && (try? JSONDecoder().decode(Result.self, from: response.body))?.installId == saved.installID
    }

    // MARK: - Logouts

    private mutating func logoutFinished(_ id: UUID, _ response: PushRegistryClient.Response) {
        let logout = logouts.first { $0.id == id }
        if key != nil, let byKey = logout?.byKey(after: response) { return updateLogout(id) { $0 = byKey } }
        // The logout has succeeded, or cannot succeed any more.
        removeLogout(id)
        guard logout?.installID == saved.installID else { return }
        saved.eTag = response.isSuccess ? response.fields["etag"] : nil
    }

    // MARK: - Registrations

    private mutating func registered(
        _ attempt: SavedState.Attempt, _ topics: SavedState.Topics, _ result: RegistrationResult, until: Date,
        isCurrent: Bool, turn: Int, at now: Date
    ) {
        saved.attempt = nil
        let eTag = "\"\(result.generation)\""
        saved.eTag = eTag
        omitsIfMatch = false
        // The user signed out meanwhile: that logout is about this generation.
        let left = logouts.map(\.id).filter { logoutTurns[$0] == turn }
        for id in left {
            updateLogout(id) {
                $0.deliveryKey = attempt.owner == nil ? nil : result.deliveryKey
                $0.eTag = eTag
                $0.isUncertain = false
            }
        }
        guard isCurrent || left.isEmpty else { return }
        saved.registration = .init(digest: attempt.digest, owner: attempt.owner, at: now, until: until)
        guard isCurrent else { return }
        isRenewed = false
        halt = nil
        replacedCredential = nil
        saved.delivery = .init(key: result.deliveryKey, epoch: result.epoch)
        for (topic, choice) in topics where saved.topics[topic] == choice { saved.topics[topic] = nil }
    }

    private mutating func refused(
        _ attempt: SavedState.Attempt, _ response: PushRegistryClient.Response, at now: Date
    ) {
        let problem = response.problem
        switch (response.status, problem.code) {
        case (412, _) where !omitsIfMatch:
            // A logout elsewhere or a provider's verdict has changed the installation: the client's latest state wins.
            omitsIfMatch = true
        case (409, "session-ended"), (401, "credential-ended"): endedElsewhere()
        // A user whose logout did not succeed still owns the installation, which has an older token.
        case (403, "owned-installation"): becomeNewInstallation()
        case (401, _) where attempt.owner != nil && !isRenewed:
            isRenewed = true
        default:
            halt = Halt(
                problem: problem, digest: attempt.digest, turn: turn, at: now, until: now + Self.repeatInterval,
                mayPass: [401, 403, 404].contains(response.status))
        }
    }
}

extension RegistrationMachine {
    /// A reading call got 401 `credential-ended`.
    mutating func endedElsewhere(turn: Int) {
        if turn == self.turn, saved.account == .user { endedElsewhere() }
    }

    mutating func endedElsewhere() {
        saved.account = .signedOutElsewhere
        saved.eTag = nil
        forgetUser()
    }

    /// The state that the app sees.
    var state: PushRegistryClient.State {
        if let halt, halt.turn == turn { return .misconfigured(halt.problem) }
        switch saved.account {
        case .signedOutElsewhere: return .signedOutElsewhere
        case .signedOut: return .signedOut
        case .anonymous, .user: break
        }
        if let retry { return .waiting(until: retry.until, registeredUntil: registeredUntil) }
        if let registration = saved.registration { return .registered(until: registration.until) }
        return tokenFailure.map { .noToken(reason: $0) } ?? .notRegistered
    }

    /// Nil if the registration may be that of another user.
    private var registeredUntil: Date? {
        guard let registration = saved.registration, !ownerIsUnchecked || replacedCredential == nil,
            saved.attempt.map({ $0.owner == registration.owner }) ?? true
        else { return nil }
        return registration.until
    }
}

extension QueuedLogout {
    /// The logout with the publishable key, if it may succeed after this response to the JWT.
    fileprivate func byKey(after response: PushRegistryClient.Response) -> QueuedLogout? {
        struct Result: Decodable {
            var status: String
        }
        guard credential != nil else { return nil }
        var logout = self
        logout.credential = nil
        let status = (try? JSONDecoder().decode(Result.self, from: response.body))?.status
        if response.isSuccess, status == "alreadyLoggedOut", !keepAnonymous {
            // The installation may be active without a user. Then the key logs it out.
            logout.deliveryKey = nil
            logout.eTag = nil
            return logout
        }
        // The JWT is too old or another user's. The delivery key is a proof as well, while the binding lasts.
        let isRefused = response.status == 401 || response.isSuccess && status == "outdated"
        return isRefused && deliveryKey != nil ? logout : nil
    }
}
