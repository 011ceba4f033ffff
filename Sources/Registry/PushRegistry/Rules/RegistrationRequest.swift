/// The content of a registration: the token, and the state of the device and its settings, which replace the stored
/// ones completely; and choices about topics.
public struct RegistrationRequest: Hashable, Sendable {
    public var token: Token
    /// Present exactly for Web Push.
    public var keys: WebPushKeys?
    public var snapshot: Snapshot
    /// The only part that is merged: absent choices stay.
    public var topics: [TopicChange]

    public init(token: Token, keys: WebPushKeys?, snapshot: Snapshot, topics: [TopicChange] = []) {
        self.token = token
        self.keys = keys
        self.snapshot = snapshot
        self.topics = topics
    }

    public var installID: InstallID { snapshot.device.installID }
}
