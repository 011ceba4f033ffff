/// A provider's response to one push, as a sender reports it.
public struct FeedbackItem: Hashable, Sendable {
    public let installID: InstallID?
    /// Nil if the installation determines it.
    public let provider: Provider?
    /// The addresses of the token; empty if the item names only an installation. Without a provider, there is one
    /// address for each provider for which the token is valid.
    public let addresses: [TokenAddress]
    /// The provider's own error code.
    public let reason: String
    /// The provider's time; nil for the time of receipt.
    public let at: Timestamp?
    /// The generation that the sender knew.
    public let generation: Int64?
    /// Whether the table has a verdict for the reason. Without one, the item changes nothing.
    public let canMatter: Bool
    /// The message of the push.
    public let message: MessageName?
    /// The receipt that was handed out with the token.
    public let receipt: String?

    public init(
        installID: InstallID?, provider: Provider?, addresses: [TokenAddress], reason: String, at: Timestamp? = nil,
        generation: Int64? = nil, message: MessageName? = nil, receipt: String? = nil
    ) {
        precondition(installID != nil || !addresses.isEmpty, "feedback is about a token or an installation")
        self.installID = installID
        self.provider = provider
        self.addresses = addresses
        self.reason = reason
        self.at = at
        self.generation = generation
        self.message = message
        self.receipt = receipt
        canMatter = provider.map { VerdictTable.verdict(on: reason, by: $0) != nil } ?? VerdictTable.names(reason)
    }
}

/// The feedback of one call about one app.
public struct Feedback: Sendable {
    public let app: AppNumber
    /// Applied in this order.
    public let items: [FeedbackItem]
    /// Whether an item names an installation, with or without a token.
    public let namesInstallations: Bool
    public let touchInterval: ISO8601Duration
    /// Nil: all dead verdicts are believed.
    public let breaker: FeedbackBreaker?
    /// The caller's role and key id.
    public let actor: String
    /// When the call arrived, perhaps some time ago. Evidence without a time dates from then.
    public let arrivedAt: ContinuousClock.Instant

    public init(of app: App, items: [FeedbackItem], actor: String, arrivedAt: ContinuousClock.Instant = .now) {
        self.app = app.number
        self.items = items
        namesInstallations = items.contains { $0.installID != nil }
        touchInterval = app.policy.touchInterval
        breaker = app.policy.feedbackBreaker
        self.actor = actor
        self.arrivedAt = arrivedAt
    }
}

/// The outcome of one item.
public enum FeedbackOutcome: String, CaseIterable, Sendable {
    /// The installation is no longer reachable.
    case unregistered
    /// The installation is not reachable until it registers again.
    case suspect
    /// As `suspect`: the token is reported as dead, but the breaker is open.
    case held
    /// The item is about an earlier registration, or the token has moved.
    case outdated
    /// No installation holds the token, or the installation does not exist.
    case unknown
    /// The reason says nothing about the token, or nothing new.
    case ignored
}

/// The number of items of each outcome.
public struct FeedbackCounts: Hashable, Sendable {
    private var counts: [FeedbackOutcome: Int] = [:]
    /// The providers whose breaker this call has opened.
    public var opened: Set<Provider> = []

    public init() {}

    public subscript(outcome: FeedbackOutcome) -> Int { counts[outcome] ?? 0 }

    public mutating func count(_ outcome: FeedbackOutcome) {
        counts[outcome, default: 0] += 1
    }
}
