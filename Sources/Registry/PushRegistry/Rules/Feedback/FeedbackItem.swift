import Basics

/// A provider's response to one push, as a sender reports it.
public struct FeedbackItem: Hashable, Sendable {
    public let installID: InstallID?
    /// Nil if the installation determines it.
    public let provider: Provider?
    /// Whether the sender named the provider. If not, typed tokens of both environments are meant.
    public let namesProvider: Bool
    /// Of the typed tokens that the item is about; nil: of the main token, or of those with the item's token.
    public let kind: TokenKind?
    /// Nil: typed tokens under any name.
    public let name: String?
    /// The addresses of the token; empty if the item names only an installation. Without a provider, there is one
    /// address for each provider for which the token is valid.
    public let addresses: [TokenAddress]
    /// The token, if its address may have other spellings.
    public let spelling: Token?
    /// The provider's own error code.
    public let reason: String
    /// The provider's time; nil for the time of receipt.
    public let at: Timestamp?
    /// The generation that the sender knew.
    public let generation: Int64?
    /// Whether the table may have a verdict for the item. Without one, the item changes nothing.
    public let canMatter: Bool
    /// The message of the push.
    public let message: MessageName?
    /// The receipt that was handed out with the token.
    public let receipt: String?

    public init(
        installID: InstallID?, provider: Provider?, addresses: [TokenAddress], spelling: Token? = nil, reason: String,
        at: Timestamp? = nil, generation: Int64? = nil, message: MessageName? = nil, receipt: String? = nil,
        kind: TokenKind? = nil, name: String? = nil, namesProvider: Bool = true
    ) {
        precondition(installID != nil || !addresses.isEmpty, "feedback is about a token or an installation")
        (self.installID, self.provider, self.addresses) = (installID, provider, addresses)
        (self.spelling, self.reason, self.at, self.generation) = (spelling, reason, at, generation)
        (self.message, self.receipt, self.kind, self.name) = (message, receipt, kind, name)
        self.namesProvider = namesProvider
        canMatter =
            provider.map { Self.verdict(on: reason, by: $0, at: at) != nil } ?? VerdictTable.names(reason)
    }

    /// The provider's verdict; nil if the item changes nothing.
    public func verdict(by provider: Provider) -> Verdict? { Self.verdict(on: reason, by: provider, at: at) }

    func removesTypedToken(of provider: Provider) -> Bool {
        verdict(by: provider) != nil && VerdictTable.row(of: reason, by: provider)?.removesTypedTokens == true
    }

    private static func verdict(on reason: String, by provider: Provider, at time: Timestamp?) -> Verdict? {
        guard let row = VerdictTable.row(of: reason, by: provider), time != nil || !row.requiresTime else { return nil }
        return row.verdict
    }

    /// The typed tokens that the item may mean by its token.
    public var typedAddresses: [TypedTokenAddress] {
        let kinds = kind.map { [$0] } ?? TokenKind.allCases
        let digests = Set(addresses.filter(\.provider.isApple).map(\.sha256))
        return digests.flatMap { digest in kinds.map { TypedTokenAddress(kind: $0, sha256: digest) } }
    }

    /// Whether the item may mean a typed token of this environment.
    public func admits(_ environment: Provider) -> Bool {
        !namesProvider || addresses.contains { $0.provider == environment }
    }

    /// Whether the outcome depends on an installation.
    public var needsInstallation: Bool { canMatter || spelling != nil }

    /// Whether the item is about a spelling that the installation has left.
    func isOfOtherSpelling(than present: Installation) -> Bool {
        spelling.map { $0.provider == present.provider && $0 != present.spelling } ?? false
    }
}

/// The feedback of one call about one app.
public struct Feedback: Sendable {
    public let app: AppNumber
    /// Applied in this order.
    public let items: [FeedbackItem]
    /// Whether an item about a main token names an installation, with or without a token.
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
        namesInstallations = items.contains { $0.installID != nil && $0.kind == nil }
        touchInterval = app.policy.touchInterval
        breaker = app.policy.feedbackBreaker
        (self.actor, self.arrivedAt) = (actor, arrivedAt)
    }
}

/// The outcome of one item.
public enum FeedbackOutcome: String, CaseIterable, Sendable {
    /// The installation is no longer reachable, or typed tokens were removed.
    case unregistered
    /// The installation is not reachable until it registers again.
    case suspect
    /// As `suspect`: the token is reported as dead, but the breaker is open. A typed token is not handed out.
    case held
    /// The item is about an earlier registration or another spelling of the token, or the token has moved.
    case outdated
    /// No installation holds the token, or the installation does not exist.
    case unknown
    /// The reason says nothing about the token, or nothing new.
    case ignored
}

/// The number of items of each outcome.
public struct FeedbackCounts: Hashable, Sendable {
    /// Different reasons outside the table that are counted. Items with further ones count as ignored only.
    static let reasonsMax = 1_000
    /// Reasons are cut after this length: a sender may send a whole error message.
    static let reasonScalarsMax = 128
    static let reportedReasonsMax = 20

    private var counts: [FeedbackOutcome: Int] = [:]
    private var reasons: [ExactText: Int] = [:]
    /// The breakers that this call has opened.
    public var opened: Set<FeedbackHour.Key> = []

    public init() {}

    public subscript(outcome: FeedbackOutcome) -> Int { counts[outcome] ?? 0 }

    /// The most frequent reasons of ignored items that the table does not have, at most 20, and their numbers.
    public var ignoredReasons: [(reason: String, count: Int)] {
        let sorted = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.prefix(Self.reportedReasonsMax).map { (reason: $0.key.text, count: $0.value) }
    }

    mutating func count(_ outcome: FeedbackOutcome) {
        counts[outcome, default: 0] += 1
    }

    /// Of an ignored item: a reason that the table does not have.
    mutating func count(reason: String) {
        let start = reason.unicodeScalars.prefix(Self.reasonScalarsMax)
        let text = ExactText(start.endIndex == reason.endIndex ? reason : String(start) + "…")
        guard reasons[text] != nil || reasons.count < Self.reasonsMax else { return }
        reasons[text, default: 0] += 1
    }
}

/// Applies the feedback of providers.
///
/// - Throws: every call throws `StoreError`.
public protocol FeedbackStore: Sendable {
    /// Applies all items, or none if it throws.
    func apply(_ feedback: Feedback) async throws -> FeedbackCounts

    /// Carries out an administrator's decision, with an entry of the audit if it changes something. What is done stays
    /// done if it throws; a repeated call does the rest.
    ///
    /// - Returns: how many installations and typed tokens it has changed; of a dry run, would change.
    func repair(_ repair: FeedbackRepair) async throws -> Int
}
