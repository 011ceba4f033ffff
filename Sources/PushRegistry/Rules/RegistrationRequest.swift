/// The content of a registration: the token, and the state of the device and its settings. It replaces the stored one
/// completely and is never a patch.
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
