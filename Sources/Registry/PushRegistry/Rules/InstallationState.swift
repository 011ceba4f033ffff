/// The state of an installation.
public enum InstallationState: String, CaseIterable, Hashable, Sendable {
    case active
    case loggedOut
    /// Its token moved to another installation, or the app was reinstalled.
    case superseded
    /// The provider reported the token as dead.
    case unregistered
    /// The provider's verdict may be due to a wrong configuration, or older than the last registration.
    case suspect
    /// Not seen for longer than the app's policy allows.
    case stale
}
