import Basics

extension AppPolicy {
    /// The members that an administrator set, not validated yet. Nil stands for the default.
    public struct Draft: Hashable, Sendable {
        public var touchInterval: ISO8601Duration?
        public var staleAfter = Staleness()
        public var retention: ISO8601Duration?
        public var grace: ISO8601Duration?
        public var sessionTombstones: ISO8601Duration?
        public var storesAdvertisingID: Bool?
        public var allowedOrigins: [String]?
        public var jwks: ExactText?
        public var jwksURL: KeySetURL?
        public var jwtIssuer: ExactText?
        public var jwtAudience: ExactText?
        public var sessionExpiryClaim: ExactText?
        public var allowsIncompleteTokens: Bool?
        public var rateLimits = RateLimits()
        public var smallestGroup: Int?
        public var receiptRetention: ISO8601Duration?
        public var notificationsMax: Int?
        public var installationsPerUser: Int?
        /// In canonical form.
        public var webPushHosts: [String]?
        public var feedbackBreaker: BreakerSetting?
        public var consoleGroups: [ExactText: Role] = [:]

        public init() {}

        public init(_ policy: AppPolicy) {
            self = policy.draft
        }
    }

    public enum BreakerSetting: Hashable, Sendable {
        case off
        case limits(FeedbackBreaker)
    }

    /// All faults of a draft; never empty.
    public struct InconsistentPolicy: Error, Hashable, Sendable {
        public let faults: [Fault]
    }

    /// One fault of a policy, with the JSON pointer (RFC 6901) of its member in the request's body.
    public struct Fault: Hashable, Sendable {
        public let pointer: String
        public let code: String
        public let detail: String
    }
}

extension AppPolicy.Draft {
    /// Members that contradict each other or cannot work.
    public var faults: [AppPolicy.Fault] {
        intervalFaults + originFaults + hostFaults + messageFaults + breakerFaults + groupFaults
            + limitFaults(rateLimits.perKey, at: "/rateLimits/perKey")
            + limitFaults(rateLimits.perAddress, at: "/rateLimits/perAddress")
    }

    /// `lastSeenAt` may lag behind by the touch interval. A shorter time of silence would retire installations whose
    /// last registration was not recorded.
    private var intervalFaults: [AppPolicy.Fault] {
        let policy = AppPolicy(unchecked: self)
        let silences =
            [("/grace", policy.grace)] + Provider.allCases.map { ("/staleAfter/\($0.rawValue)", staleAfter[$0]) }
        return silences.filter { $0.1 <= policy.touchInterval }.map {
            .init(pointer: $0.0, code: "not-above-touch-interval", detail: "This must be longer than touchInterval.")
        }
    }

    private var originFaults: [AppPolicy.Fault] {
        (allowedOrigins ?? []).enumerated().filter { !Self.isOrigin($0.element) }.map {
            AppPolicy.Fault(
                pointer: "/allowedOrigins/\($0.offset)", code: "invalid-origin",
                detail: "This must be an origin such as https://app.example.com, or *.")
        }
    }

    private var hostFaults: [AppPolicy.Fault] {
        (webPushHosts ?? []).enumerated().filter { WebPushHosts.canonical($0.element) != $0.element }.map {
            AppPolicy.Fault(
                pointer: "/webPushHosts/\($0.offset)", code: "invalid-host",
                detail: "This must be a host, host:port, *. and a domain, or *.")
        }
    }

    private var messageFaults: [AppPolicy.Fault] {
        let isTooLong = receiptRetention.map { $0.seconds == 0 || $0 > AppPolicy.receiptRetentionMax } ?? false
        return outOfRange("/smallestGroup", "at least 1", if: smallestGroup.map { $0 < 1 } ?? false)
            + outOfRange("/receiptRetention", "above 0 and at most \(AppPolicy.receiptRetentionMax)", if: isTooLong)
    }

    private var breakerFaults: [AppPolicy.Fault] {
        guard case .limits(let breaker) = feedbackBreaker else { return [] }
        let isCount = FeedbackBreaker.countRange.contains(breaker.count)
        let isShare = breaker.share > 0 && breaker.share <= 1
        return outOfRange("/feedbackBreaker/count", "at least 0", if: !isCount)
            + outOfRange("/feedbackBreaker/share", "above 0 and at most 1", if: !isShare)
    }

    private var groupFaults: [AppPolicy.Fault] {
        guard consoleGroups.count > AppPolicy.consoleGroupsMax else { return [] }
        let detail = "At most \(AppPolicy.consoleGroupsMax) groups are allowed."
        return [.init(pointer: "/consoleGroups", code: "too-many", detail: detail)]
    }

    private func limitFaults(_ limit: AppPolicy.RateLimit?, at pointer: String) -> [AppPolicy.Fault] {
        guard let limit else { return [] }
        return outOfRange(pointer + "/rate", "above 0", if: !(limit.rate > 0 && limit.rate.isFinite))
            + outOfRange(pointer + "/burst", "at least 1", if: limit.burst < 1)
    }

    private func outOfRange(_ pointer: String, _ expected: String, if isFault: Bool) -> [AppPolicy.Fault] {
        isFault ? [.init(pointer: pointer, code: "out-of-range", detail: "This must be \(expected).")] : []
    }

    /// Scheme, host and port exactly as a browser sends them. `http` is allowed for development.
    private static func isOrigin(_ text: String) -> Bool {
        if text == "*" { return true }
        guard text.utf8.count <= 256, VisibleASCII.contains(text) else { return false }
        let secure = text.hasPrefix("http://") ? "https://" + text.dropFirst("http://".count) : text
        return WebOrigin(prefixOf: secure)?.text == secure
    }
}
