import PushRegistry

/// The published keys of one app's identity provider. This value decides which keys are in use and when they are
/// fetched; `ProviderKeySets` fetches them.
struct ProviderKeys {
    /// How long a set is used before it is fetched again, if the response has no `Cache-Control`.
    static let refreshInterval = Duration.seconds(3_600)
    /// The bounds of the provider's `max-age`: a revoked key must not work for days, and the service must not fetch the
    /// set all the time.
    static let refreshIntervals = Duration.seconds(300)...Duration.seconds(6 * 3_600)
    /// The pause after a fetch, before a JWT with an unknown key or a failure can start the next one. Anybody can send
    /// such a JWT, so this limits the fetches that strangers can cause.
    static let pause = Duration.seconds(30)
    /// How long a set is used if it cannot be fetched again. A key that the provider has revoked works until then.
    static let lifetime = Duration.seconds(24 * 3_600)

    typealias Instant = ContinuousClock.Instant

    /// The keys in use and the time of their fetch, which identifies the set; nil if none is in use.
    typealias Current = (keys: [UserTokenKeys.Key], fetchedAt: Instant?)

    /// The decision about a JWT with an unknown key.
    enum Step: Equatable {
        /// Wait for the end of a fetch, which the caller starts if `beginning` is true.
        case wait(beginning: Bool)
        /// Refuse the JWT: the set was fetched a moment ago and does not contain the key.
        case refuse
        /// It is unknown whether the key exists: the last fetch failed a moment ago.
        case giveUp(retryAfter: Duration)
    }

    private(set) var isFetching = false
    private var keys: [UserTokenKeys.Key] = []
    private var fetchedAt: Instant?
    private var refreshAfter = ProviderKeys.refreshInterval
    /// The time and the result of the last fetch.
    private var end: (at: Instant, failed: Bool)?

    /// The keys to verify with: none before the first fetch and after `lifetime`.
    func current(at now: Instant) -> Current {
        guard let fetchedAt, now - fetchedAt < Self.lifetime else { return ([], nil) }
        return (keys, fetchedAt)
    }

    /// The remaining lifetime of the keys in use; nil if none is in use.
    func remainingLife(at now: Instant) -> Duration? {
        fetchedAt.map { max(.zero, $0 + Self.lifetime - now) }
    }

    /// Whether the keys in use must be refreshed now. If so, the caller starts the fetch.
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
