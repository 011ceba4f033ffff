/// The push service that issued a token; APNs has one provider for each environment.
public enum Provider: String, CaseIterable, Hashable, Sendable {
    case apns, apnsSandbox, fcm, huawei, webPush

    /// Whether it is Apple's, whose clients always know whether the user allows notifications.
    public var isApple: Bool { self == .apns || self == .apnsSandbox }
}
