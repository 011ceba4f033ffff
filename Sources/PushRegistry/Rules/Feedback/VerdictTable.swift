/// What a provider's word about a token is worth (R9).
public enum Verdict: String, CaseIterable, Sendable {
    /// The provider does not know the token any more.
    case dead
    /// The provider refuses the token, but the fault may be a wrong environment, app or sender: a fault of
    /// configuration.
    case doubtful
}

/// R9: the words of the providers that count. Whatever is not in here changes nothing.
///
/// Data with a version: a change of a row is a new version. The page `FeedbackVerdicts` shows the same rows; a test
/// holds it to them.
public enum VerdictTable {
    public struct Row: Hashable, Sendable {
        public let providers: [Provider]
        /// As the provider writes it, exactly. Numbers are written as digits.
        public let reason: String
        public let verdict: Verdict
        /// What the provider means by it.
        public let meaning: String
    }

    public static let version = 1

    public static let rows = [
        Row(
            providers: apple, reason: "Unregistered", verdict: .dead,
            meaning: "410: the app was removed, or notifications are not wanted any more"),
        Row(providers: apple, reason: "ExpiredToken", verdict: .dead, meaning: "410: the token has expired"),
        Row(
            providers: apple, reason: "BadDeviceToken", verdict: .doubtful,
            meaning: "400: no token, or one of the other environment"),
        Row(
            providers: apple, reason: "DeviceTokenNotForTopic", verdict: .doubtful,
            meaning: "400: a token of another app"),
        Row(
            providers: [.fcm], reason: "UNREGISTERED", verdict: .dead,
            meaning: "404: the app was removed, or the token was replaced"),
        Row(
            providers: [.fcm], reason: "SENDER_ID_MISMATCH", verdict: .doubtful,
            meaning: "403: a token of another sender"),
        Row(
            providers: [.fcm], reason: "INVALID_ARGUMENT", verdict: .doubtful,
            meaning: "400: not a token, where the fault is the token's and not the payload's"),
        Row(
            providers: [.huawei], reason: "80300007", verdict: .doubtful,
            meaning: "all tokens of the call are invalid"),
        Row(
            providers: [.webPush], reason: "404", verdict: .dead,
            meaning: "the subscription is not known (RFC 8030, section 7.3)"),
        Row(
            providers: [.webPush], reason: "410", verdict: .dead,
            meaning: "the subscription has gone"),
    ]

    private static let apple: [Provider] = [.apns, .apnsSandbox]

    /// Nil for what changes nothing.
    public static func verdict(on reason: String, by provider: Provider) -> Verdict? {
        verdicts[provider]?[reason]
    }

    /// Whether any provider's verdict has this name.
    static func names(_ reason: String) -> Bool {
        verdicts.values.contains { $0[reason] != nil }
    }

    private static let verdicts: [Provider: [String: Verdict]] = rows.reduce(into: [:]) { verdicts, row in
        for provider in row.providers { verdicts[provider, default: [:]][row.reason] = row.verdict }
    }
}
