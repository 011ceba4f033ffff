/// A push service, and the environment of it, that a token belongs to.
public enum Provider: String, CaseIterable, Hashable, Sendable {
    case apns, apnsSandbox, fcm, huawei, webPush
}
