import Basics

/// The verdict of a provider's error code about a token (R9).
public enum Verdict: String, CaseIterable, Sendable {
    /// The token is no longer valid.
    case dead
    /// The provider refuses the token, but a wrong environment, app or sender may be the cause.
    case doubtful
}

/// R9: the error codes of providers that have an effect. Other codes change nothing.
///
/// A change of a row increments the version. A test compares the page `FeedbackVerdicts` with these rows.
public enum VerdictTable {
    public struct Row: Hashable, Sendable {
        public let providers: [Provider]
        /// Exactly as the provider writes it; numbers as digits.
        public let reason: String
        public let verdict: Verdict
        /// The meaning according to the provider.
        public let meaning: String
        /// Whether the row has an effect only with the provider's time.
        public var requiresTime = false

        /// Whether it removes a typed token: the app sends it again, so a bad one is not worth a suspicion.
        var removesTypedTokens: Bool { verdict == .dead || reason == "BadDeviceToken" }
    }

    public static let version = 2

    public static let rows = [
        Row(
            providers: apple, reason: "Unregistered", verdict: .dead,
            meaning: "410: the app was removed, or the user disabled notifications"),
        Row(providers: apple, reason: "ExpiredToken", verdict: .dead, meaning: "410: the token has expired"),
        Row(
            providers: apple, reason: "410", verdict: .dead,
            meaning: "the status alone: the token is no longer valid (only with its `timestamp`)", requiresTime: true),
        Row(
            providers: apple, reason: "BadDeviceToken", verdict: .doubtful,
            meaning: "400: not a token, or one of the other environment"),
        Row(
            providers: apple, reason: "DeviceTokenNotForTopic", verdict: .doubtful,
            meaning: "400: a token of another app"),
        Row(
            providers: [.fcm], reason: "UNREGISTERED", verdict: .dead,
            meaning: "404: the app was removed, or the token was replaced"),
        Row(providers: [.fcm], reason: "NOT_FOUND", verdict: .dead, meaning: "404: the status of `UNREGISTERED`"),
        Row(
            providers: [.fcm], reason: "messaging/registration-token-not-registered", verdict: .dead,
            meaning: "`UNREGISTERED` as Firebase's Admin SDK names it"),
        Row(
            providers: [.fcm], reason: "registration-token-not-registered", verdict: .dead,
            meaning: "the same without the prefix"),
        Row(
            providers: [.fcm], reason: "NotRegistered", verdict: .dead,
            meaning: "`UNREGISTERED` as the legacy API names it"),
        Row(
            providers: [.fcm], reason: "SENDER_ID_MISMATCH", verdict: .doubtful,
            meaning: "403: a token of another sender"),
        Row(
            providers: [.fcm], reason: "INVALID_ARGUMENT", verdict: .doubtful,
            meaning: "400: not a token (only if the payload is not at fault)"),
        Row(
            providers: [.fcm], reason: "404", verdict: .doubtful,
            meaning: "the status alone: an unknown token, or a wrong project"),
        Row(
            providers: [.fcm], reason: "InvalidRegistration", verdict: .doubtful,
            meaning: "not a token, as the legacy API names it"),
        Row(
            providers: [.fcm], reason: "messaging/invalid-registration-token", verdict: .doubtful,
            meaning: "not a token, as Firebase's Admin SDK names it"),
        Row(
            providers: [.fcm], reason: "messaging/mismatched-credential", verdict: .doubtful,
            meaning: "`SENDER_ID_MISMATCH` as Firebase's Admin SDK names it"),
        Row(
            providers: [.fcm], reason: "MismatchSenderId", verdict: .doubtful,
            meaning: "`SENDER_ID_MISMATCH` as the legacy API names it"),
        Row(
            providers: [.huawei], reason: "80300007", verdict: .doubtful,
            meaning: "all tokens of the request are invalid"),
        Row(
            providers: [.webPush], reason: "404", verdict: .dead,
            meaning: "the subscription is not known (RFC 8030, section 7.3)"),
        Row(
            providers: [.webPush], reason: "410", verdict: .dead,
            meaning: "the subscription no longer exists"),
        Row(providers: [.webPush], reason: "Gone", verdict: .dead, meaning: "410 by its name"),
        Row(providers: [.webPush], reason: "Expired", verdict: .dead, meaning: "the subscription has expired"),
    ]

    private static let apple: [Provider] = [.apns, .apnsSandbox]

    /// Nil for a reason without a row.
    static func row(of reason: String, by provider: Provider) -> Row? {
        rowsByReason[provider]?[ExactText(reason)]
    }

    /// Whether any provider has a row with this reason.
    static func names(_ reason: String) -> Bool {
        rowsByReason.values.contains { $0[ExactText(reason)] != nil }
    }

    private static let rowsByReason: [Provider: [ExactText: Row]] = rows.reduce(into: [:]) { byReason, row in
        for provider in row.providers { byReason[provider, default: [:]][ExactText(row.reason)] = row }
    }
}
