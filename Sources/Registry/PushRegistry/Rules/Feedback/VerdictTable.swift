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
        public let requiresTime: Bool

        fileprivate init(
            _ providers: [Provider], _ reason: String, _ verdict: Verdict, _ meaning: String, requiresTime: Bool = false
        ) {
            (self.providers, self.reason, self.verdict, self.meaning) = (providers, reason, verdict, meaning)
            self.requiresTime = requiresTime
        }

        /// Whether it removes a typed token: the app sends it again, so a bad one is not worth a suspicion.
        var removesTypedTokens: Bool { verdict == .dead || reason == "BadDeviceToken" }
    }

    public static let version = 2

    public static let rows = [
        Row(apple, "Unregistered", .dead, "410: the app was removed, or the user disabled notifications"),
        Row(apple, "ExpiredToken", .dead, "410: the token has expired"),
        Row(
            apple, "410", .dead,
            "the status alone: the token is no longer valid (only with its `timestamp`)", requiresTime: true),
        Row(apple, "BadDeviceToken", .doubtful, "400: not a token, or one of the other environment"),
        Row(apple, "DeviceTokenNotForTopic", .doubtful, "400: a token of another app"),
        Row([.fcm], "UNREGISTERED", .dead, "404: the app was removed, or the token was replaced"),
        Row([.fcm], "NOT_FOUND", .dead, "404: the status of `UNREGISTERED`"),
        Row(
            [.fcm], "messaging/registration-token-not-registered", .dead,
            "`UNREGISTERED` as Firebase's Admin SDK names it"),
        Row([.fcm], "registration-token-not-registered", .dead, "the same without the prefix"),
        Row([.fcm], "NotRegistered", .dead, "`UNREGISTERED` as the legacy API names it"),
        Row([.fcm], "SENDER_ID_MISMATCH", .doubtful, "403: a token of another sender"),
        Row([.fcm], "INVALID_ARGUMENT", .doubtful, "400: not a token (only if the payload is not at fault)"),
        Row([.fcm], "404", .doubtful, "the status alone: an unknown token, or a wrong project"),
        Row([.fcm], "InvalidRegistration", .doubtful, "not a token, as the legacy API names it"),
        Row([.fcm], "messaging/invalid-registration-token", .doubtful, "not a token, as Firebase's Admin SDK names it"),
        Row(
            [.fcm], "messaging/mismatched-credential", .doubtful,
            "`SENDER_ID_MISMATCH` as Firebase's Admin SDK names it"),
        Row([.fcm], "MismatchSenderId", .doubtful, "`SENDER_ID_MISMATCH` as the legacy API names it"),
        Row([.huawei], "80300007", .doubtful, "all tokens of the request are invalid"),
        Row([.webPush], "404", .dead, "the subscription is not known (RFC 8030, section 7.3)"),
        Row([.webPush], "410", .dead, "the subscription no longer exists"),
        Row([.webPush], "Gone", .dead, "410 by its name"),
        Row([.webPush], "Expired", .dead, "the subscription has expired"),
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
