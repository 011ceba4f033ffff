import HTTPServer
import Locking
import PushRegistry

/// Limits how often keys and addresses may call, and how often an address may fail to authenticate.
///
/// All event loops of a process share one object, so the limits apply to the whole process. Processes behind a load
/// balancer each have their own. The lock is held only for the arithmetic of one bucket.
public final class CallLimits: Sendable {
    /// Buckets of each kind; they take at most about ten megabytes.
    static let bucketsMax = 65_536

    private struct Name: Hashable, Sendable {
        let app: AppNumber
        let caller: Subject
    }

    private enum Subject: Hashable, Sendable {
        case key(String?)
        case address(IPAddress)
    }

    /// Sign-ins to the console that fail: an admin key that a person chose might be guessed.
    private static let failedSignIns = AppPolicy.RateLimit(rate: 0.2, burst: 10)

    private let failures: AppPolicy.RateLimit
    private let receipts: AppPolicy.RateLimit?
    private let senders = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let calls = Locked(TokenBuckets<Name>(countMax: bucketsMax))
    private let failed = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let signIns = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - failures: the limit of failed authentications of one address.
    ///   - receipts: the limit of calls with receipts of one address; nil: none.
    public init(
        failures: AppPolicy.RateLimit = AppPolicy.RateLimit(rate: 10, burst: 100),
        receipts: AppPolicy.RateLimit? = AppPolicy.RateLimit(rate: 50, burst: 500)
    ) {
        self.failures = failures
        self.receipts = receipts
    }

    /// Counts a call with receipts, which has no credential.
    ///
    /// - Throws: `APIError.tooManyReceipts`.
    func admitReceipts(from address: IPAddress) throws(APIError) {
        guard let receipts else { return }
        let now = ContinuousClock.now - start
        guard let wait = senders.withLock({ $0.take(address.network, limit: receipts, at: now) }) else { return }
        throw .tooManyReceipts(retryAfter: wait)
    }

    /// Counts a call against the app's limits for the key and for the address. A call with a JWT counts only against
    /// the address.
    ///
    /// - Throws: `APIError.tooManyRequests`.
    func admit(_ caller: Caller, from address: IPAddress, to app: App) throws(APIError) {
        let limits = app.policy.rateLimits
        if let limit = limits.perKey, caller.user == nil {
            try take(Name(app: app.number, caller: .key(caller.keyID)), limit)
        }
        try admit(from: address, to: app)
    }

    /// Counts a call against the app's limit for the address.
    ///
    /// - Throws: `APIError.tooManyRequests`.
    func admit(from address: IPAddress, to app: App) throws(APIError) {
        guard let limit = app.policy.rateLimits.perAddress else { return }
        try take(Name(app: app.number, caller: .address(address.network)), limit)
    }

    private func take(_ name: Name, _ limit: AppPolicy.RateLimit) throws(APIError) {
        let now = ContinuousClock.now - start
        guard let wait = calls.withLock({ $0.take(name, limit: limit, at: now) }) else { return }
        throw .tooManyRequests(retryAfter: wait)
    }

    /// Whether credentials from the address are checked. After too many failures even a valid one is refused: otherwise
    /// the response would reveal a correct guess.
    func mayAuthenticate(from address: IPAddress) -> Bool {
        let now = ContinuousClock.now - start
        return failed.withLock { $0.has(address.network, limit: failures, at: now) }
    }

    /// Counts a sign-in to the console, before its key is checked: guesses at the same moment count, too.
    ///
    /// - Throws: `APIError.tooManySignIns`.
    func takeSignIn(from address: IPAddress) throws(APIError) {
        let now = ContinuousClock.now - start
        let wait = signIns.withLock { $0.take(address.network, limit: Self.failedSignIns, at: now) }
        if let wait { throw .tooManySignIns(retryAfter: wait) }
    }

    /// A sign-in that succeeded does not count.
    func refundSignIn(from address: IPAddress) {
        let now = ContinuousClock.now - start
        signIns.withLock { $0.refund(address.network, limit: Self.failedSignIns, at: now) }
    }

    /// Counts a failed authentication.
    func countFailure(from address: IPAddress) {
        let now = ContinuousClock.now - start
        failed.withLock { _ = $0.take(address.network, limit: failures, at: now) }
    }
}
