import Basics

/// The policy of an app: the members that its administrator set, and the defaults of the others. Always consistent.
///
/// Defaults are not stored: if a new version of the service changes a default, it changes for every app that did not
/// set the member.
public struct AppPolicy: Hashable, Sendable {
    /// The members that the administrator set.
    public let draft: Draft

    /// The policy without any member set.
    public static let standard = AppPolicy(unchecked: Draft())

    /// - Throws: every inconsistency of the draft.
    public init(_ draft: Draft) throws(InconsistentPolicy) {
        let faults = draft.faults
        guard faults.isEmpty else { throw InconsistentPolicy(faults: faults) }
        self.init(unchecked: draft)
    }

    init(unchecked draft: Draft) {
        self.draft = draft
    }

    /// An unchanged registration updates `lastSeenAt` only if it is at least this old.
    public var touchInterval: ISO8601Duration { draft.touchInterval ?? .hours(24) }
    /// How long an installation may stay silent before it is stale.
    public var staleAfter: Staleness { draft.staleAfter }
    /// How long an installation is kept after it left `active`.
    public var retention: ISO8601Duration { draft.retention ?? .days(30) }
    /// How long a suspect or probably replaced installation may stay silent.
    public var grace: ISO8601Duration { draft.grace ?? .days(7) }
    /// How long tombstones of ended sessions are kept.
    public var sessionTombstones: ISO8601Duration { draft.sessionTombstones ?? .days(400) }
    public var storesAdvertisingID: Bool { draft.storesAdvertisingID ?? false }
    /// Web origins (RFC 6454) whose pages may call the API, or `*` for all.
    public var allowedOrigins: [String] { draft.allowedOrigins ?? [] }
    /// The key set (JWKS, RFC 7517) that verifies users' JWTs, as JSON.
    public var jwks: ExactText? { draft.jwks }
    /// The URL at which the identity provider publishes its key set. Its keys are used in addition to those of `jwks`.
    public var jwksURL: KeySetURL? { draft.jwksURL }
    /// The required `iss`; not checked if nil.
    public var jwtIssuer: ExactText? { draft.jwtIssuer }
    /// The required `aud`; not checked if nil.
    public var jwtAudience: ExactText? { draft.jwtAudience }
    /// The claim with the session's expiry; none by default.
    public var sessionExpiryClaim: ExactText? { draft.sessionExpiryClaim }
    /// Whether JWTs without `exp`, or with neither `iat` nor `sid`, are accepted. The latter survive every logout.
    public var allowsIncompleteTokens: Bool { draft.allowsIncompleteTokens ?? false }
    public var rateLimits: RateLimits { draft.rateLimits }
    /// Marketing does not see groups of a message with fewer targeted installations.
    public var smallestGroup: Int { draft.smallestGroup ?? 1 }
    /// How long single receipts are kept. No receipt of a message is valid for longer.
    public var receiptRetention: ISO8601Duration { draft.receiptRetention ?? .days(30) }
    /// As long as the sums of messages are kept.
    public static let receiptRetentionMax = ISO8601Duration.days(400)
    /// How many notifications may wait for one installation.
    public var notificationsMax: Int { draft.notificationsMax ?? 100 }
    /// A post reads all that waits for an installation.
    public static let notificationsMaxRange: ClosedRange<Int64> = 1...1_000

    /// How many active installations a user may have; nil: any number. Beyond it, those that have not been seen for the
    /// longest are superseded.
    public var installationsPerUser: Int? { draft.installationsPerUser }
    /// A registration may have to lock as many.
    public static let installationsPerUserRange: ClosedRange<Int64> = 1...1_000

    /// The push services whose Web Push endpoints installations may register.
    public var webPushHosts: WebPushHosts { draft.webPushHosts.map(WebPushHosts.init) ?? WebPushHosts() }

    /// From when on dead verdicts of providers are held; nil: never.
    public var feedbackBreaker: FeedbackBreaker? {
        switch draft.feedbackBreaker {
        case nil: .standard
        case .off: nil
        case .limits(let breaker): breaker
        }
    }

    /// The role that each group of the console's identity provider gives its members. Never `client`.
    public var consoleGroups: [ExactText: Role] { draft.consoleGroups }
    public static let consoleGroupsMax = 100

    /// How long an installation of each provider may stay silent.
    public struct Staleness: Hashable, Sendable {
        /// The providers that the administrator set; the others have their defaults.
        public var decided: [Provider: ISO8601Duration] = [:]

        public init() {}

        public subscript(provider: Provider) -> ISO8601Duration {
            get { decided[provider] ?? Self.standard(provider) }
            set { decided[provider] = newValue }
        }

        private static func standard(_ provider: Provider) -> ISO8601Duration {
            switch provider {
            case .apns, .fcm, .huawei, .webPush: .days(60)
            case .apnsSandbox: .days(30)
            }
        }
    }

    /// How often one key and one address may call; nil is unlimited.
    public struct RateLimits: Hashable, Sendable {
        public var perKey: RateLimit?
        public var perAddress: RateLimit?

        public init(perKey: RateLimit? = nil, perAddress: RateLimit? = nil) {
            (self.perKey, self.perAddress) = (perKey, perAddress)
        }
    }

    /// A token bucket.
    public struct RateLimit: Hashable, Sendable {
        /// Calls per second, above 0.
        public var rate: Double
        /// The largest number of calls at once, at least 1.
        public var burst: Int

        public init(rate: Double, burst: Int) {
            (self.rate, self.burst) = (rate, burst)
        }
    }
}

extension AppPolicy {
    /// Whether web pages of `origin` may call the app's API. Origins are compared exactly, as browsers send them.
    public func allows(origin: String) -> Bool {
        allowedOrigins.contains { $0 == "*" || $0.utf8.elementsEqual(origin.utf8) }
    }
}
