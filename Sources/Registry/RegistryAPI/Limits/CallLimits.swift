import Basics
import HTTPApplication
import PushRegistry

/// The largest bodies of calls whose size depends on the app. A larger body gets a 413.
public struct BodyLimits: Sendable {
    /// Fits a token of 4,096 characters, 32 languages and every string at its limit, all escaped.
    public var registrationBytesMax = 64 * 1024
    public var feedbackBytesMax = 8 * 1024 * 1024

    public init() {}
}

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
        (self.guesses, self.receipts) = (guesses, receipts)
    }

    /// Counts a call with receipts, which has no credential.
    ///
    /// - Throws: `APIError.tooManyReceipts`.
    func admitReceipts(from address: IPAddress) throws(APIError) {
        guard let receipts else { return }
        if let wait = wait(senders, address.network, receipts) { throw .tooManyReceipts(retryAfter: wait) }
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
        if let wait = wait(calls, name, limit) { throw .tooManyRequests(retryAfter: wait) }
    }

    /// Takes one call out of a bucket, now.
    private func wait<Key>(
        _ buckets: borrowing Locked<TokenBuckets<Key>>, _ name: Key, _ limit: AppPolicy.RateLimit
    ) -> Duration? {
        let now = ContinuousClock.now - start
        return buckets.withLock { $0.take(name, limit: limit, at: now) }
    }

    /// Counts a sign-in to the console whose key is wrong.
    ///
    /// - Throws: `APIError.tooManySignIns`.
    func countFailedSignIn(from address: IPAddress) throws(APIError) {
        if let wait = wait(signIns, address.network, Self.failedSignIns) { throw .tooManySignIns(retryAfter: wait) }
    }

    /// Counts a sign-in by the console's identity provider.
    ///
    /// - Returns: whether the limit admits it.
    func admitsProvidedSignIn(from address: IPAddress) -> Bool {
        wait(providedSignIns, address.network, Self.providedSignIns) == nil
    }

    /// Counts a credential that did not verify. One that verifies is never counted or refused: many callers may share
    /// an address, and a key of 256 random bits cannot be guessed at any rate.
    ///
    /// - Returns: nil if the limit admits the guess, else the wait until it admits the next one.
    func countGuess(from address: IPAddress) -> Duration? {
        guesses.flatMap { wait(guessers, address.network, $0) }
    }

    /// Whether the audit log gets a line about a failed authentication, which is no guess perhaps. The limit of guesses
    /// applies here, too: strangers must not fill the log.
    func mayLogFailure(from address: IPAddress) -> Bool {
        guesses.flatMap { wait(loggedFailures, address.network, $0) } == nil
    }
}

/// Token buckets by name: each holds up to `burst` calls and gains `rate` calls per second.
///
/// A value that takes the time as an argument. Its memory is bounded: there are two generations of buckets, and when
/// the younger is full, the older is dropped. So frequent callers stay in spite of a flood of names. A dropped bucket
/// counts as full.
struct TokenBuckets<Name: Hashable & Sendable>: Sendable {
    private struct Bucket {
        var level: Double
        var filledAt: Duration
    }

    private let generationMax: Int
    private var young: [Name: Bucket] = [:]
    private var old: [Name: Bucket] = [:]

    /// - Parameter countMax: the largest number of buckets.
    init(countMax: Int) {
        generationMax = max(1, countMax / 2)
    }

    var count: Int { young.count + old.count }

    private func bucket(_ name: Name, _ limit: AppPolicy.RateLimit, at now: Duration) -> Bucket {
        var bucket = young[name] ?? old[name] ?? Bucket(level: Double(limit.burst), filledAt: now)
        let gained = max(0, (now - bucket.filledAt) / .seconds(1)) * limit.rate
        bucket.level = min(Double(limit.burst), bucket.level + gained)
        bucket.filledAt = max(now, bucket.filledAt)
        return bucket
    }

    /// Takes one call out of the bucket.
    ///
    /// - Parameter now: the time of a monotonic clock.
    /// - Returns: nil if the call is admitted, else the wait until the next one is.
    mutating func take(_ name: Name, limit: AppPolicy.RateLimit, at now: Duration) -> Duration? {
        var bucket = bucket(name, limit, at: now)
        defer { keep(bucket, name) }
        guard bucket.level >= 1 else { return .seconds((1 - bucket.level) / max(limit.rate, 1e-6)) }
        bucket.level -= 1
        return nil
    }

    private mutating func keep(_ bucket: Bucket, _ name: Name) {
        if young[name] == nil, young.count >= generationMax {
            old = young
            young = [:]
        }
        young[name] = bucket
    }
}
