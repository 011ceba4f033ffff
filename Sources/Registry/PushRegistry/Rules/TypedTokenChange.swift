/// A call about one token of an installation: `PUT` or `DELETE …/installations/{installId}/tokens/{kind}/{name}`.
public struct TypedTokenChange: Sendable {
    public enum Action: Sendable {
        /// - Parameter environment: `apns` or `apnsSandbox`; nil: that of the installation.
        case put(SentTypedToken, environment: Provider?)
        case remove(TypedTokenKey)
    }

    public let key: InstallationKey
    public let action: Action
    private let requester: Requester
    private let authority: RegistrationClaim.Authority
    /// The user and session of a JWT; nil for a key.
    public let credential: UserCredential?
    /// How long tombstones of ended sessions are kept.
    public let sessionTombstones: ISO8601Duration
    private let precondition: Precondition?
    /// The caller's role and key id, never the user.
    private let actor: String

    public init(
        _ action: Action, on key: InstallationKey, of app: App, for requester: Requester,
        by authority: RegistrationClaim.Authority, credential: UserCredential?, precondition: Precondition?,
        actor: String
    ) {
        (self.key, self.action, self.requester, self.authority) = (key, action, requester, authority)
        (self.credential, self.precondition, self.actor) = (credential, precondition, actor)
        sessionTombstones = app.policy.sessionTombstones
    }

    /// The token that the call adds; nil if it removes one.
    public var added: TypedTokenAddress? {
        if case .put(let sent, _) = action { sent.address } else { nil }
    }

    /// Applies the call.
    ///
    /// - Parameters:
    ///   - installations: the locked ones: the call's, if it exists, and those that have the added token.
    ///   - tokens: their sets.
    /// - Returns: the events of former holders.
    public func apply(
        on installations: [InstallationKey: Installation], _ tokens: inout LockedTokens, at now: Timestamp
    ) throws(TypedTokenRefusal) -> [TokenEvent] {
        if case .put(let sent, _) = action, sent.isPast(at: now) { throw .past }
        let present = try admitted(installations[key], at: now)
        switch action {
        case .remove(let name):
            tokens.remove(name, on: key)
            return []
        case .put(let sent, let environment):
            guard present.provider.isApple else { throw .otherProvider }
            let moved = try tokens.put(sent.in(environment ?? present.provider), on: key)
            return moved.compactMap { moved in
                installations[moved.holder].map { TokenEvent(moved, from: $0, by: actor, at: now) }
            }
        }
    }

    private func admitted(_ present: Installation?, at now: Timestamp) throws(TypedTokenRefusal) -> Installation {
        guard let present else { throw .notFound }
        switch authority {
        case .owner:
            guard requester.owns(installationOf: present.owner) else { throw .notFound }
        case .publishableKey(let proof?):
            guard proof.holds(for: present, at: now) else { throw .owned }
        case .publishableKey(nil):
            guard present.owner == nil || present.tokenSHA256 == nil else { throw .owned }
        }
        if precondition?.fails(on: present) == true {
            throw .outdated(generation: requester.visibleGeneration(of: present))
        }
        guard present.state == .active else { throw .notActive }
        return present
    }
}

/// Why a call about one token was refused. Nothing was changed.
public enum TypedTokenRefusal: Error, Hashable, Sendable {
    /// The installation does not exist, or belongs to another user.
    case notFound
    /// The publishable key changes a user's installation only with the present delivery key (fine print 10).
    case owned
    /// R7: a logout has ended the credential.
    case credentialEnded
    /// R8: `If-Match` failed. The current generation; nil if the caller may not read the record.
    case outdated(generation: Int64?)
    case notActive
    /// The installation is not of APNs.
    case otherProvider
    /// `expiresAt` is past.
    case past
    case tooMany
}

/// The outcome of a call about one token.
public struct TypedTokenOutcome: Hashable, Sendable {
    public let generation: Int64
    /// The number of the installation's tokens that have not expired.
    public let count: Int

    public init(generation: Int64, count: Int) {
        (self.generation, self.count) = (generation, count)
    }
}
