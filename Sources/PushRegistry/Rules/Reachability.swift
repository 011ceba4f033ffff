extension InstallationRecord {
    /// Whether a push sent at the moment of reading would be let through: active, in a session that has not expired,
    /// and allowed by the user. Clients of providers other than APNs' two often cannot tell whether they are allowed.
    public var isReachable: Bool {
        guard installation.state == .active else { return false }
        if let expiry = installation.owner?.session?.expiresAt, expiry <= readAt { return false }
        switch snapshot.settings.authorizationStatus {
        case .authorized, .provisional, .ephemeral: return true
        case .unknown: return installation.provider != .apns && installation.provider != .apnsSandbox
        case .notDetermined, .denied: return false
        }
    }
}
