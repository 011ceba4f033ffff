/// What a client asks for when it registers: a token to be reached by, and what it says of its device and its user's
/// wishes. A complete replacement, never a patch.
public struct RegistrationRequest: Hashable, Sendable {
    public var token: Token
    /// Present exactly for Web Push.
    public var keys: WebPushKeys?
    public var snapshot: Snapshot

    public init(token: Token, keys: WebPushKeys?, snapshot: Snapshot) {
        self.token = token
        self.keys = keys
        self.snapshot = snapshot
    }

    public var installID: InstallID { snapshot.device.installID }
}
