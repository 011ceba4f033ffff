/// A reason why a push sent now would not reach an installation.
public enum UnreachableReason: Hashable, Sendable {
    /// Its state is not `active`.
    case state(InstallationState)
    case sessionExpired
    /// The user does not allow notifications, or an APNs client did not send whether the user does.
    case authorization(AuthorizationStatus)

    /// The code in the API.
    public var code: String {
        switch self {
        case .state(let state): "state-\(state.rawValue)"
        case .sessionExpired: "session-expired"
        case .authorization(let status): "authorization-\(status.rawValue)"
        }
    }
}

/// The conditions for a push to reach an installation: it is active, its session has not expired, and the user allows
/// notifications, or an import assumed it.
public struct Reachability: Hashable, Sendable {
    public let state: InstallationState
    /// When the session of the owner expires; nil if it does not.
    public let sessionExpiresAt: Timestamp?
    public let settings: NotificationSettings
    public let provider: Provider

    public init(
        state: InstallationState, sessionExpiresAt: Timestamp?, settings: NotificationSettings, provider: Provider
    ) {
        (self.state, self.sessionExpiresAt, self.settings) = (state, sessionExpiresAt, settings)
        self.provider = provider
    }

    /// Why a push sent at a time would not arrive; empty if it would.
    ///
    /// - Parameter kind: of the typed token to which it is sent; nil for the main token.
    public func obstacles(at time: Timestamp, to kind: TokenKind? = nil) -> [UnreachableReason] {
        var reasons: [UnreachableReason] = []
        if state != .active { reasons.append(.state(state)) }
        if let sessionExpiresAt, sessionExpiresAt <= time { reasons.append(.sessionExpired) }
        if kind?.requiresAuthorization ?? true, !allowsPushes {
            reasons.append(.authorization(settings.authorizationStatus))
        }
        return reasons
    }

    /// Clients of providers other than APNs often cannot read the authorization, so `unknown` counts as allowed.
    private var allowsPushes: Bool {
        switch settings.authorizationStatus {
        case .authorized, .provisional, .ephemeral: true
        case .unknown: settings.authorizationAssumed || !provider.isApple
        case .notDetermined, .denied: settings.authorizationAssumed
        }
    }
}

extension TokenKind {
    /// Whether a push to such a token arrives only if the user allows notifications: those of Live Activities are shown
    /// like these.
    public var requiresAuthorization: Bool { self == .liveActivityStart || self == .liveActivity }
}

extension InstallationRecord {
    /// Whether a push sent at `readAt` arrives.
    public var isReachable: Bool { unreachableBecause.isEmpty }

    /// Empty if the installation is reachable.
    public var unreachableBecause: [UnreachableReason] {
        Reachability(
            state: installation.state, sessionExpiresAt: installation.owner?.session?.expiresAt,
            settings: snapshot.settings, provider: installation.provider
        ).obstacles(at: readAt)
    }
}
