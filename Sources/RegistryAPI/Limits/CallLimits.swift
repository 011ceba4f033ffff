import HTTPServer
import PushRegistry
import Synchronization

/// How often keys and addresses may call, and how often an address may fail to authenticate.
///
/// One serves all event loops of the process, so that the limits hold for the process whole; several processes behind a
/// balancer each have their own. Its lock is held for the arithmetic of a bucket and nothing else.
public final class CallLimits: Sendable {
    /// Buckets of each kind: some ten megabytes at most.
    static let bucketsMax = 65_536

    private struct Name: Hashable, Sendable {
        let app: AppNumber
        let caller: Subject
    }

    private enum Subject: Hashable, Sendable {
        case key(String?)
        case address(IPAddress)
    }

    private let failures: AppPolicy.RateLimit
    private let calls = Mutex(TokenBuckets<Name>(countMax: bucketsMax))
    private let failed = Mutex(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let start = ContinuousClock.now

    /// - Parameter failures: failed authentications of one address.
    public init(failures: AppPolicy.RateLimit = AppPolicy.RateLimit(rate: 10, burst: 100)) {
        self.failures = failures
    }

    /// Counts a call against the app's limits of its key and of its address. The users of an app share no key's limit:
    /// who calls with a JWT is limited by address alone.
    ///
    /// - Throws: `APIError.tooManyRequests`.
    func admit(_ caller: Caller, from address: IPAddress, to app: App) throws(APIError) {
        let limits = app.policy.rateLimits
        if let limit = limits.perKey, caller.user == nil {
            try take(Name(app: app.number, caller: .key(caller.keyID)), limit)
        }
        if let limit = limits.perAddress {
            try take(Name(app: app.number, caller: .address(address.network)), limit)
        }
    }

    private func take(_ name: Name, _ limit: AppPolicy.RateLimit) throws(APIError) {
        let now = ContinuousClock.now - start
        guard let wait = calls.withLock({ $0.take(name, limit: limit, at: now) }) else { return }
        throw .tooManyRequests(retryAfter: wait)
    }

    /// Whether a credential of the address is looked at: not once it failed too often, and then no good one either,
    /// since the answer would tell a right guess from a wrong one.
    func mayAuthenticate(from address: IPAddress) -> Bool {
        let now = ContinuousClock.now - start
        return failed.withLock { $0.has(address.network, limit: failures, at: now) }
    }

    /// Counts a failed authentication.
    func countFailure(from address: IPAddress) {
        let now = ContinuousClock.now - start
        failed.withLock { _ = $0.take(address.network, limit: failures, at: now) }
    }
}
