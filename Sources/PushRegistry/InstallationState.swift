/// What has become of an installation.
public enum InstallationState: String, CaseIterable, Hashable, Sendable {
    case active
    case loggedOut
    /// Its token moved elsewhere, or the app was installed anew.
    case superseded
    /// The provider says that the token is dead.
    case unregistered
    /// The provider's verdict may be a fault of configuration, or older than the last visit.
    case suspect
    /// Not seen for longer than the app's policy allows.
    case stale
}

/// What happened to an installation's token, owner or state.
public enum EventKind: String, CaseIterable, Hashable, Sendable {
    case registered, rotated, takenOver, superseded, loggedOut, sessionEnded, suspect, unregistered, stale
    case reactivated, deleted, erased, imported, logoutIgnored
}
