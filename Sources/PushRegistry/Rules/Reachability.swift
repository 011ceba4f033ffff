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

extension InstallationRecord {
    /// Whether a push sent at `readAt` arrives: the installation is active, its session has not expired, and the user
    /// allows notifications, or an import assumed so.
    public var isReachable: Bool { unreachableBecause.isEmpty }

    /// Empty if the installation is reachable.
    public var unreachableBecause: [UnreachableReason] {
        var reasons: [UnreachableReason] = []
        if installation.state != .active { reasons.append(.state(installation.state)) }
        if let expiry = installation.owner?.session?.expiresAt, expiry <= readAt { reasons.append(.sessionExpired) }
        let status = snapshot.settings.authorizationStatus
        if !allowsPushes(status), !snapshot.settings.authorizationAssumed { reasons.append(.authorization(status)) }
        return reasons
    }

    /// Clients of providers other than APNs often cannot read the authorization, so `unknown` counts as allowed.
    private func allowsPushes(_ status: AuthorizationStatus) -> Bool {
        switch status {
        case .authorized, .provisional, .ephemeral: true
        case .unknown: !installation.provider.isApple
        case .notDetermined, .denied: false
        }
    }
}
