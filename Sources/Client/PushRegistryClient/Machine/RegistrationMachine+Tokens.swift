import Foundation

// Tokens beside the one for alerts. A registration has all of them and replaces those that the registry has. If
// nothing else has changed, a call of its own changes one of them.
extension RegistrationMachine {
    mutating func receive(_ token: ReportedToken, at now: Date) {
        var tokens = saved.tokens ?? []
        var token = token
        if let index = tokens.firstIndex(where: { $0.id == token.id }) {
            token.isSent = tokens[index].isSent && tokens[index].isStored(as: token)
            tokens.remove(at: index)
        }
        let others = tokens.indices.filter { tokens[$0].text != nil }
        if others.count >= ReportedToken.countMax, let first = others.min(by: { tokens[$0].endsBefore(tokens[$1]) }) {
            tokens[first] = tokens[first].removed()
        }
        saved.tokens = Self.limited(tokens + [token])
        reportedTokens.insert(token.id)
        retry?.hurry(at: now)
    }

    mutating func invalidate(_ id: ReportedToken.ID, at now: Date) {
        guard var tokens = saved.tokens, let index = tokens.firstIndex(where: { $0.id == id }) else { return }
        tokens[index] = tokens[index].removed()
        saved.tokens = Self.limited(tokens)
        retry?.hurry(at: now)
    }

    /// The oldest removals are dropped, because a registration removes the tokens as well.
    private static func limited(_ tokens: [ReportedToken]) -> [ReportedToken] {
        let surplus = tokens.indices.filter { tokens[$0].text == nil }.prefix(
            max(0, tokens.count - ReportedToken.storedMax))
        return tokens.indices.filter { !surplus.contains($0) }.map { tokens[$0] }
    }

    mutating func dropExpiredTokens(at now: Date) {
        saved.tokens?.removeAll { $0.text != nil && ($0.end ?? .distantFuture) <= now }
    }

    /// The tokens of a registration; nil leaves those alone that the registry has.
    var sentTokens: [ReportedToken]? { hasTypedTokens ? saved.tokens : nil }

    /// What the registry does not know yet.
    private var tokenChanges: [ReportedToken] { hasTypedTokens ? (saved.tokens ?? []).filter { !$0.isSent } : [] }

    /// Nil in a process that the system has not given the token for alerts yet.
    private var hasTypedTokens: Bool { token.map { [.apns, .apnsSandbox].contains($0.provider) } ?? true }

    /// Whether a registration is the call for the changes: one call instead of several, and the only one after a
    /// refusal.
    var tokensNeedRegistration: Bool { tokenChanges.count > 1 || registersTokens && !tokenChanges.isEmpty }

    /// The change for a call of its own, removals first. Nil without a registration that it could change.
    var tokenChange: ReportedToken? {
        guard saved.registration != nil, saved.attempt == nil, !registersTokens else { return nil }
        return tokenChanges.first { $0.text == nil } ?? tokenChanges.first
    }

    /// Without a sign-out, another user has signed in: tokens that were sent for the former user are dropped.
    mutating func checkUser(of credential: String) {
        guard let user = Digest.user(of: credential) else { return }
        if let last = saved.user, last != user { saved.tokens?.removeAll(where: \.isSent) }
        saved.user = user
    }

    // MARK: - Outcomes

    /// The registry has stored these tokens, and has done these removals.
    mutating func tokensSent(_ sent: [ReportedToken]) {
        for sent in sent {
            guard let index = saved.tokens?.firstIndex(where: { $0.isStored(as: sent) }) else { continue }
            if sent.text == nil { saved.tokens?.remove(at: index) } else { saved.tokens?[index].isSent = true }
        }
        isRenewed = false
    }

    /// A refused token never prevents the registration: it is dropped.
    ///
    /// - Returns: false if the refusal is about something else.
    mutating func tokensRefused(_ sent: [ReportedToken]?, _ problem: PushRegistryClient.Problem) -> Bool {
        let pointers = (problem.errors ?? []).compactMap(\.pointer).filter { "\($0)/".hasPrefix("/tokens/") }
        guard let sent, !pointers.isEmpty else { return false }
        let tokens = sent.filter { $0.text != nil }
        let refused = pointers.compactMap { Int($0.split(separator: "/").dropFirst().first ?? "") }
            .filter(tokens.indices.contains).map { tokens[$0] }
        guard !refused.isEmpty else {
            saved.tokens = nil
            return true
        }
        for refused in refused { saved.tokens?.removeAll { $0.isStored(as: refused) } }
        return true
    }

    mutating func tokenRefused(_ change: ReportedToken, _ response: PushRegistryClient.Response) {
        switch (response.status, response.problem.code) {
        case (409, "session-ended"), (401, "credential-ended"): endedElsewhere()
        case (401, _) where saved.account == .user && !isRenewed: isRenewed = true
        case (400, _): saved.tokens?.removeAll { $0.isStored(as: change) }
        // The registry has too many tokens or no active installation: a registration replaces both. An older version
        // of the registry has no such call.
        default: registersTokens = true
        }
    }
}
