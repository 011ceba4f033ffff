/// What a sender passes on of a provider's answer to one push.
public struct FeedbackItem: Hashable, Sendable {
    public let installID: InstallID?
    /// Nil where the installation tells it.
    public let provider: Provider?
    /// The token that was sent to, empty where only the installation is named. Without a provider, one for each
    /// provider whose token it can be.
    public let addresses: [TokenAddress]
    /// In the provider's own words.
    public let reason: String
    /// The provider's time; nil: as of receipt.
    public let at: Timestamp?
    /// Of the installation, as the sender knew it.
    public let generation: Int64?
    /// Whether the verdict can change anything, whatever it turns out to be about.
    public let canMatter: Bool

    public init(
        installID: InstallID?, provider: Provider?, addresses: [TokenAddress], reason: String, at: Timestamp? = nil,
        generation: Int64? = nil
    ) {
        precondition(installID != nil || !addresses.isEmpty, "feedback is about a token or an installation")
        self.installID = installID
        self.provider = provider
        self.addresses = addresses
        self.reason = reason
        self.at = at
        self.generation = generation
        canMatter = provider.map { VerdictTable.verdict(on: reason, by: $0) != nil } ?? VerdictTable.names(reason)
    }
}

/// The feedback of one call, of one app.
public struct Feedback: Sendable {
    public let app: AppNumber
    /// Applied in this order.
    public let items: [FeedbackItem]
    /// Whether an item is about an installation by its name, be it that it names a token as well.
    public let namesInstallations: Bool
    public let touchInterval: ISO8601Duration
    /// Who asked: the role and the key's id.
    public let actor: String
    /// When the call came in. It may have waited since, and evidence without a time is of then.
    public let arrivedAt: ContinuousClock.Instant

    public init(of app: App, items: [FeedbackItem], actor: String, arrivedAt: ContinuousClock.Instant = .now) {
        self.app = app.number
        self.items = items
        namesInstallations = items.contains { $0.installID != nil }
        touchInterval = app.policy.touchInterval
        self.actor = actor
        self.arrivedAt = arrivedAt
    }
}

/// What became of one item.
public enum FeedbackOutcome: String, CaseIterable, Sendable {
    /// The installation is not reachable any more.
    case unregistered
    /// The installation is not sent to until it registers again.
    case suspect
    /// It is about an earlier registration, or the token has moved.
    case outdated
    /// Nobody holds the token, or there is no such installation.
    case unknown
    /// The reason says nothing about the token, or what it says was known.
    case ignored
}

/// How many items came to what.
public struct FeedbackCounts: Hashable, Sendable {
    private var counts: [FeedbackOutcome: Int] = [:]

    public init() {}

    public subscript(outcome: FeedbackOutcome) -> Int { counts[outcome] ?? 0 }

    public mutating func count(_ outcome: FeedbackOutcome) {
        counts[outcome, default: 0] += 1
    }
}
