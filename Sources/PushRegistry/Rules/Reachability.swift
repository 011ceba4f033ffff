/// A reason for which a push sent now would not reach an installation.
public enum UnreachableReason: Hashable, Sendable {
    /// Its state is not `active`.
    case state(InstallationState)
    case sessionExpired
    /// The user does not allow notifications, or the client of an APNs token does not know.
    case authorization(AuthorizationStatus)

    /// The code that a record shows.
    public var code: String {
        switch self {
        case .state(let state): "state-\(state.rawValue)"
        case .sessionExpired: "session-expired"
        case .authorization(let status): "authorization-\(status.rawValue)"
        }
    }
}

extension InstallationRecord {
    /// Whether a push sent at the moment of reading would be let through: active, in a session that has not expired,
    /// and allowed by the user.
    public var isReachable: Bool { unreachableBecause.isEmpty }

    /// All reasons against it; empty if the installation is reachable.
    public var unreachableBecause: [UnreachableReason] {
        var reasons: [UnreachableReason] = []
        if installation.state != .active { reasons.append(.state(installation.state)) }
        if let expiry = installation.owner?.session?.expiresAt, expiry <= readAt { reasons.append(.sessionExpired) }
        let status = snapshot.settings.authorizationStatus
        if !allowsPushes(status) { reasons.append(.authorization(status)) }
        return reasons
    }

    /// Clients of providers other than APNs' two often cannot tell whether they are allowed.
    private func allowsPushes(_ status: AuthorizationStatus) -> Bool {
        switch status {
        case .authorized, .provisional, .ephemeral: true
        case .unknown: installation.provider != .apns && installation.provider != .apnsSandbox
        case .notDetermined, .denied: false
        }
    }
}
