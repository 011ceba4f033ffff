/// What an app's administrator decides about it; consistent by construction.
public struct AppPolicy: Hashable, Sendable {
    /// How old `lastSeenAt` may grow before an unchanged registration moves it.
    public let touchInterval: ISO8601Duration
    /// How long an installation may stay silent before it is stale.
    public let staleAfter: Staleness
    /// How long an installation is kept after it left `active`.
    public let retention: ISO8601Duration
    /// How long a suspect or probably replaced installation may stay silent.
    public let grace: ISO8601Duration
    /// How long the end of a session is remembered.
    public let sessionTombstones: ISO8601Duration
    public let storesAdvertisingID: Bool
    /// Web origins (RFC 6454) that browsers may call from, or `*`.
    public let allowedOrigins: [String]
    /// The JWKS (RFC 7517) that the users' tokens are signed with, as JSON.
    public let jwks: String?
    /// What `iss` and `aud` must be; not checked if absent.
    public let jwtIssuer: String?
    public let jwtAudience: String?
    /// The claim that says when the session ends; none by default.
    public let sessionExpiryClaim: String?
    public let rateLimits: RateLimits

    /// What an app has that nobody decided anything about.
    public static let standard = AppPolicy(unchecked: Draft())

    /// - Throws: every inconsistency of the draft.
    public init(_ draft: Draft) throws(InconsistentPolicy) {
        let faults = draft.faults
        guard faults.isEmpty else { throw InconsistentPolicy(faults: faults) }
        self.init(unchecked: draft)
    }

    private init(unchecked draft: Draft) {
        touchInterval = draft.touchInterval
        staleAfter = draft.staleAfter
        retention = draft.retention
        grace = draft.grace
        sessionTombstones = draft.sessionTombstones
        storesAdvertisingID = draft.storesAdvertisingID
        allowedOrigins = draft.allowedOrigins
        jwks = draft.jwks
        jwtIssuer = draft.jwtIssuer
        jwtAudience = draft.jwtAudience
        sessionExpiryClaim = draft.sessionExpiryClaim
        rateLimits = draft.rateLimits
    }

    /// How long an installation of each provider may stay silent.
    public struct Staleness: Hashable, Sendable {
        public var apns = ISO8601Duration.days(60)
        public var apnsSandbox = ISO8601Duration.days(30)
        public var fcm = ISO8601Duration.days(60)
        public var huawei = ISO8601Duration.days(60)
        public var webPush = ISO8601Duration.days(60)

        public init() {}

        public subscript(provider: Provider) -> ISO8601Duration {
            get { self[keyPath: Self.path(provider)] }
            set { self[keyPath: Self.path(provider)] = newValue }
        }

        private static func path(_ provider: Provider) -> WritableKeyPath<Staleness, ISO8601Duration> {
            switch provider {
            case .apns: \.apns
            case .apnsSandbox: \.apnsSandbox
            case .fcm: \.fcm
            case .huawei: \.huawei
            case .webPush: \.webPush
            }
        }
    }

    /// How often one key and one address may call; nil is without a limit.
    public struct RateLimits: Hashable, Sendable {
        public var perKey: RateLimit?
        public var perAddress: RateLimit?

        public init(perKey: RateLimit? = nil, perAddress: RateLimit? = nil) {
            self.perKey = perKey
            self.perAddress = perAddress
        }
    }

    /// A token bucket.
    public struct RateLimit: Hashable, Sendable {
        /// Calls per second, above zero.
        public var rate: Double
        /// How many calls may come at once, at least one.
        public var burst: Int

        public init(rate: Double, burst: Int) {
            self.rate = rate
            self.burst = burst
        }
    }
}
