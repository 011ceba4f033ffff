/// What an app's administrator decided about it, and the defaults for the rest; consistent by construction.
///
/// It keeps what was decided apart from the defaults: a default that changes with a version of the service changes for
/// every app that did not decide otherwise.
public struct AppPolicy: Hashable, Sendable {
    /// What the administrator decided.
    public let draft: Draft

    /// The policy of an app whose administrator decided nothing.
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

    /// How old `lastSeenAt` may grow before an unchanged registration moves it.
    public var touchInterval: ISO8601Duration { draft.touchInterval ?? .hours(24) }
    /// How long an installation may stay silent before it is stale.
    public var staleAfter: Staleness { draft.staleAfter }
    /// How long an installation is kept after it left `active`.
    public var retention: ISO8601Duration { draft.retention ?? .days(30) }
    /// How long a suspect or probably replaced installation may stay silent.
    public var grace: ISO8601Duration { draft.grace ?? .days(7) }
    /// How long the end of a session is remembered.
    public var sessionTombstones: ISO8601Duration { draft.sessionTombstones ?? .days(400) }
    public var storesAdvertisingID: Bool { draft.storesAdvertisingID ?? false }
    /// Web origins (RFC 6454) that browsers may call from, or `*`.
    public var allowedOrigins: [String] { draft.allowedOrigins ?? [] }
    /// The JWKS (RFC 7517) that the users' JWTs are signed with, as JSON.
    public var jwks: String? { draft.jwks }
    /// Where the identity provider publishes such keys; they are used beside those of `jwks`.
    public var jwksURL: KeySetURL? { draft.jwksURL }
    /// What `iss` and `aud` must be; not checked if absent.
    public var jwtIssuer: String? { draft.jwtIssuer }
    public var jwtAudience: String? { draft.jwtAudience }
    /// The claim that holds the session's expiry; none by default.
    public var sessionExpiryClaim: String? { draft.sessionExpiryClaim }
    /// Whether JWTs without `exp`, or without both `iat` and `sid`, are accepted. No logout can end such a JWT.
    public var allowsIncompleteTokens: Bool { draft.allowsIncompleteTokens ?? false }
    public var rateLimits: RateLimits { draft.rateLimits }

    /// How long an installation of each provider may stay silent.
    public struct Staleness: Hashable, Sendable {
        /// What the administrator decided; the other providers have their defaults.
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
