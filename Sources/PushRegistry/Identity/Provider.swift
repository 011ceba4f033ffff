/// The push service that issued a token; APNs has one provider for each environment.
public enum Provider: String, CaseIterable, Hashable, Sendable {
    case apns, apnsSandbox, fcm, huawei, webPush
}
