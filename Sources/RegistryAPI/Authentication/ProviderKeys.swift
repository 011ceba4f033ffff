import PushRegistry

/// The keys that the identity provider of one app publishes: which of them are in use, and when they are fetched. A
/// value that only decides; `ProviderKeySets` fetches.
struct ProviderKeys {
    /// How long a set is used before it is fetched again, if the provider does not say so.
    static let refreshInterval = Duration.seconds(3_600)
    /// What the provider says counts within these bounds, so that neither a revoked key lasts for days nor the
    /// provider is asked all the time.
    static let refreshIntervals = Duration.seconds(300)...Duration.seconds(6 * 3_600)
    /// From the end of a fetch to the next one because of a JWT whose key is missing, or after a failure. Anybody can
    /// send such a JWT, so this bounds what strangers can make the service do.
    static let pause = Duration.seconds(30)
    /// How long a set is used that cannot be fetched again. Until then, a key that the provider has revoked works.
    static let lifetime = Duration.seconds(24 * 3_600)

    typealias Instant = ContinuousClock.Instant

    /// The keys in use, and when they were fetched, which tells sets apart; nil if none is in use.
    typealias Current = (keys: [UserTokenKeys.Key], fetchedAt: Instant?)

    /// What to do for a JWT whose key is missing.
    enum Step: Equatable {
        /// Wait for the end of a fetch. If it is to begin, the caller begins it.
        case wait(beginning: Bool)
        /// The set was fetched a moment ago: the key is not in it.
        case refuse
        /// The provider could not be reached a moment ago: nobody knows.
        case giveUp(retryAfter: Duration)
    }

    private(set) var isFetching = false
    private var keys: [UserTokenKeys.Key] = []
    private var fetchedAt: Instant?
    private var refreshAfter = ProviderKeys.refreshInterval
    /// When the last fetch ended, and how.
    private var end: (at: Instant, failed: Bool)?

    /// The keys to verify with: none before the first fetch, and after the lifetime.
    func current(at now: Instant) -> Current {
        guard let fetchedAt, now - fetchedAt < Self.lifetime else { return ([], nil) }
        return (keys, fetchedAt)
    }

    /// How long the keys in use will be; nil without any.
    func remainingLife(at now: Instant) -> Duration? {
        fetchedAt.map { max(.zero, $0 + Self.lifetime - now) }
    }

    /// Whether the keys in use are to be fetched again beside their use. If so, the caller begins the fetch.
    mutating func beginsRefresh(at now: Instant) -> Bool {
        guard !isFetching, let fetchedAt, now - fetchedAt >= refreshAfter, mayFetch(at: now) else { return false }
        isFetching = true
        return true
    }

    mutating func step(at now: Instant) -> Step {
        if isFetching { return .wait(beginning: false) }
        if mayFetch(at: now) {
            isFetching = true
            return .wait(beginning: true)
        }
        return failure(at: now).map { .giveUp(retryAfter: $0) } ?? .refuse
    }

    /// If the last fetch failed, the time until the next one may begin.
    func failure(at now: Instant) -> Duration? {
        guard let end, end.failed else { return nil }
        return max(.zero, end.at + Self.pause - now)
    }

    private func mayFetch(at now: Instant) -> Bool {
        end.map { now - $0.at >= Self.pause } ?? true
    }

    mutating func fetched(_ keys: [UserTokenKeys.Key], maxAge: Duration?, at now: Instant) {
        let bounds = Self.refreshIntervals
        refreshAfter = min(max(maxAge ?? Self.refreshInterval, bounds.lowerBound), bounds.upperBound)
        (self.keys, fetchedAt, end, isFetching) = (keys, now, (now, false), false)
    }

    mutating func fetchFailed(at now: Instant) {
        (end, isFetching) = ((now, true), false)
    }
}
