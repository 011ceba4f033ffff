import Basics
import Logging
import Metrics
import PushRegistry

/// The key sets of the apps whose policy has a `jwksURL`, shared by all event loops. `run` fetches them. The loops use
/// the sets in memory, or wait for a fetch.
public final class ProviderKeySets: Sendable {
    /// The number of concurrent fetches of all apps; others wait. Each occupies a thread, for seconds if the provider
    /// does not respond.
    static let fetchesMax = 4
    /// The URLs of an app that are fetched within one pause: who changes the policy again and again must not occupy the
    /// threads of all.
    static let urlsMax = 2

    /// The result of waiting for a missing key.
    enum Outcome: Equatable, Sendable {
        /// A new set was fetched: verify again.
        case fetched
        /// The key is not in the set.
        case refused
        case unavailable(retryAfter: Duration)
    }

    /// An app and its URL. While a policy changes, some loops may use the old URL and others the new one.
    private struct Subject: Hashable, Sendable {
        let app: AppNumber
        let url: KeySetURL
    }

    private struct Entry {
        var keys = ProviderKeys()
        let createdAt: ContinuousClock.Instant
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private struct State: ~Copyable {
        var entries: [Subject: Entry] = [:]
        var isFinished = false
    }

    private struct Job: Sendable {
        let subject: Subject
        let id: AppID
    }

    private let fetcher: any KeySetFetcher
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Locked(State())
    /// At most one for each subject.
    private let jobs: (stream: AsyncStream<Job>, input: AsyncStream<Job>.Continuation)

    /// - Parameter now: returns the current time.
    public init(
        _ fetcher: any KeySetFetcher, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        (self.fetcher, self.logger, self.now) = (fetcher, logger, now)
        let (stream, input) = AsyncStream<Job>.makeStream()
        jobs = (stream, input)
    }

    /// The keys of the app's identity provider that are in memory; nil without a `jwksURL`. Does not wait: keys stay in
    /// use while they are refreshed.
    func current(of app: App) -> ProviderKeys.Current? {
        guard let url = app.policy.jwksURL else { return nil }
        let (now, subject) = (now(), Subject(app: app.number, url: url))
        let (current, isDue) = state.withLock { state in
            let isDue = state.entries[subject]?.keys.beginsRefresh(at: now) ?? false
            return (state.entries[subject]?.keys.current(at: now) ?? ([], nil), isDue)
        }
        if isDue { jobs.input.yield(Job(subject: subject, id: app.id)) }
        return current
    }

    /// Fetches the keys of an app after a JWT with an unknown key, and waits for the result. Does nothing if they were
    /// fetched a moment ago.
    func fetchMissingKey(of app: App) async -> Outcome {
        guard let url = app.policy.jwksURL else { return .refused }
        let subject = Subject(app: app.number, url: url)
        switch step(for: subject) {
        case .refuse: return .refused
        case .giveUp(let wait): return .unavailable(retryAfter: wait)
        case .wait(let isBeginning):
            if isBeginning { jobs.input.yield(Job(subject: subject, id: app.id)) }
            await waitForEnd(of: subject)
            let now = now()
            let failure = state.withLock { state in
                state.isFinished ? .zero : state.entries[subject]?.keys.failure(at: now)
            }
            return failure.map { .unavailable(retryAfter: $0) } ?? .fetched
        }
    }

    private func step(for subject: Subject) -> ProviderKeys.Step {
        let now = now()
        return state.withLock { state in
            if state.isFinished { return .giveUp(retryAfter: .zero) }
            if state.entries[subject] == nil {
                // The app had another URL before: remove its set.
                state.entries = state.entries.filter { other, entry in
                    other.app != subject.app || entry.keys.isFetching || now - entry.createdAt < ProviderKeys.pause
                }
                guard state.entries.count(where: { $0.key.app == subject.app }) < Self.urlsMax else {
                    return .giveUp(retryAfter: ProviderKeys.pause)
                }
            }
            return state.entries[subject, default: Entry(createdAt: now)].keys.step(at: now)
        }
    }

    private func waitForEnd(of subject: Subject) async {
        await withCheckedContinuation { continuation in
            let isWaiting = state.withLock { state in
                guard !state.isFinished, state.entries[subject]?.keys.isFetching == true else { return false }
                state.entries[subject]?.waiting.append(continuation)
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }
}

extension ProviderKeySets {
    /// Fetches the key sets that the loops request, until it is cancelled. Waits for fetches in progress.
    public func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await job in jobs.stream {
                if running == Self.fetchesMax {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await self.fetch(job) }
            }
        }
        let waiting = state.withLock { state in
            state.isFinished = true
            return state.entries.values.flatMap(\.waiting)
        }
        for continuation in waiting { continuation.resume() }
    }

    private func fetch(_ job: Job) async {
        var result = "ok"
        do throws(KeySetFailure) {
            let (keys, maxAge) = try await keys(of: job)
            record(job.subject) { $0.fetched(keys, maxAge: maxAge, at: $1) }
        } catch {
            result = "failed"
            let remainingLife = record(job.subject) { $0.fetchFailed(at: $1) }
            logger.warning(
                "a key set cannot be fetched",
                metadata: [
                    "app": "\(job.id)", "provider": "\(job.subject.url.origin)", "reason": "\(error.reason)",
                    "lastSetUsableFor": "\(remainingLife ?? .zero)",
                ])
        }
        Counter(label: "jwks_fetches_total", dimensions: [("app", job.id.rawValue), ("result", result)]).increment()
        wake(job.subject)
    }

    private func keys(of job: Job) async throws(KeySetFailure) -> (keys: [UserTokenKeys.Key], maxAge: Duration?) {
        let published = try await fetcher.keySet(at: job.subject.url)
        guard let (set, ignored) = JWKS.published(published.text) else {
            throw KeySetFailure(reason: "the response is not a JSON Web Key Set of at most \(JWKS.keysMax) keys")
        }
        if ignored > 0 {
            logger.notice(
                "keys of a key set are ignored: they cannot verify a JWT, or are not public keys",
                metadata: [
                    "app": "\(job.id)", "provider": "\(job.subject.url.origin)", "keys": "\(ignored)",
                ])
        }
        guard !set.keys.isEmpty else { throw KeySetFailure(reason: "no key of the set verifies JWTs") }
        return (set.keys, published.maxAge)
    }

    /// Records the end of a fetch.
    ///
    /// - Returns: the remaining lifetime of the keys in use.
    @discardableResult
    private func record(
        _ subject: Subject, _ end: (inout ProviderKeys, ContinuousClock.Instant) -> Void
    ) -> Duration? {
        let now = now()
        return state.withLock { state in
            guard var keys = state.entries[subject]?.keys else { return nil }
            end(&keys, now)
            state.entries[subject]?.keys = keys
            return keys.remainingLife(at: now)
        }
    }

    /// Resumes the tasks that wait for the end of a fetch.
    private func wake(_ subject: Subject) {
        let waiting = state.withLock { state in
            defer { state.entries[subject]?.waiting = [] }
            return state.entries[subject]?.waiting ?? []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Verifies a JWT. If a key is missing, fetches the key set and verifies once more.
    ///
    /// - Parameter first: the result of the first attempt, if there was one already.
    /// - Throws: `APIError.invalidUserToken`, `.keySetUnavailable`; what `verify` throws.
    func fetchingMissingKey<Value>(
        first: Result<Value, any Error>? = nil, _ verify: () throws -> Value
    ) async throws -> Value {
        do {
            return try first?.get() ?? verify()
        } catch let missing as MissingKey {
            switch await fetchMissingKey(of: missing.app) {
            case .fetched: return try verify()
            case .refused: throw APIError.invalidUserToken(missing.fault)
            case .unavailable(let wait): throw APIError.keySetUnavailable(retryAfter: wait)
            }
        }
    }
}

/// No current key verifies the JWT, but the app's identity provider may have published another key.
struct MissingKey: Error {
    let app: App
    /// Why the JWT is refused if there is no other key.
    let fault: UserTokenFault
}

/// Fetches the key set of an identity provider. It must not block the caller's event loop.
public protocol KeySetFetcher: Sendable {
    /// Returns or throws within seconds, even if the provider does not respond.
    ///
    /// - Throws: `KeySetFailure`.
    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet
}

/// A fetched key set.
public struct PublishedKeySet: Sendable {
    /// JSON, not parsed yet.
    public let text: [UInt8]
    /// How long the set is fresh according to the provider; nil if it does not say so.
    public let maxAge: Duration?

    public init(text: [UInt8], maxAge: Duration?) {
        (self.text, self.maxAge) = (text, maxAge)
    }
}

/// A key set cannot be fetched. The reason is for the operator's log.
public struct KeySetFailure: Error, Sendable {
    public let reason: String

    public init(reason: String) {
        self.reason = reason
    }
}

extension PublishedKeySet {
    /// Enough for 100 keys with their certificates.
    public static let bytesMax = 256 * 1024
}
