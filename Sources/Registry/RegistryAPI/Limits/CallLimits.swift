import Basics
import HTTPApplication
import PushRegistry

/// Limits how often keys and addresses may call, and how often an address may guess credentials.
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

    /// Sign-ins by the console's identity provider, which each cost a call of the provider.
    private static let providedSignIns = AppPolicy.RateLimit(rate: 1, burst: 30)

    private let guesses: AppPolicy.RateLimit?
    private let receipts: AppPolicy.RateLimit?
    private let senders = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let calls = Locked(TokenBuckets<Name>(countMax: bucketsMax))
    private let guessers = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let loggedFailures = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let signIns = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let providedSignIns = Locked(TokenBuckets<IPAddress>(countMax: bucketsMax))
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - guesses: the limit of failed authentications of one address; nil: none.
    ///   - receipts: the limit of calls with receipts of one address; nil: none.
    public init(
        guesses: AppPolicy.RateLimit? = AppPolicy.RateLimit(rate: 10, burst: 100),
        receipts: AppPolicy.RateLimit? = AppPolicy.RateLimit(rate: 50, burst: 500)
    ) {
        self.guesses = guesses
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
            try take(Name(app: app.number, caller: .key(caller.keyID ?? caller.person?.subject)), limit)
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

    /// Counts a sign-in to the console whose key is wrong.
    ///
    /// - Throws: `APIError.tooManySignIns`.
    func countFailedSignIn(from address: IPAddress) throws(APIError) {
        let now = ContinuousClock.now - start
        let wait = signIns.withLock { $0.take(address.network, limit: Self.failedSignIns, at: now) }
        if let wait { throw .tooManySignIns(retryAfter: wait) }
    }

    /// Counts a sign-in by the console's identity provider.
    ///
    /// - Returns: whether the limit admits it.
    func admitsProvidedSignIn(from address: IPAddress) -> Bool {
        let now = ContinuousClock.now - start
        return providedSignIns.withLock { $0.take(address.network, limit: Self.providedSignIns, at: now) } == nil
    }

    /// Counts a credential that did not verify. One that verifies is never counted or refused: many callers may share
    /// an address, and a key of 256 random bits cannot be guessed at any rate.
    ///
    /// - Returns: nil if the limit admits the guess, else the wait until it admits the next one.
    func countGuess(from address: IPAddress) -> Duration? {
        guard let guesses else { return nil }
        let now = ContinuousClock.now - start
        return guessers.withLock { $0.take(address.network, limit: guesses, at: now) }
    }

    /// Whether the audit log gets a line about a failed authentication, which is no guess perhaps. The limit of guesses
    /// applies here, too: strangers must not fill the log.
    func mayLogFailure(from address: IPAddress) -> Bool {
        guard let guesses else { return true }
        let now = ContinuousClock.now - start
        return loggedFailures.withLock { $0.take(address.network, limit: guesses, at: now) } == nil
    }
}
