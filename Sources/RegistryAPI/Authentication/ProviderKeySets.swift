import Logging
import Metrics
import PushRegistry
import Synchronization

/// The key sets of the apps whose policy has a `jwksURL`, shared by all event loops. `run` fetches them; the loops look
/// at what is there, or wait.
public final class ProviderKeySets: Sendable {
    /// Fetches at once, of all apps; others wait. Each holds a thread, for seconds if the provider does not answer.
    static let fetchesMax = 4

    /// What waiting for a missing key came to.
    enum Outcome: Equatable, Sendable {
        /// There is another set: verify again.
        case fetched
        /// The key is in no set.
        case refused
        case unavailable(retryAfter: Duration)
    }

    /// An app under one of its policies. While a policy changes, the loops may judge by the old one and by the new one.
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
    private let state = Mutex(State())
    /// One at most for each subject.
    private let jobs: (stream: AsyncStream<Job>, input: AsyncStream<Job>.Continuation)

    /// - Parameter now: the time.
    public init(
        _ fetcher: any KeySetFetcher, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.fetcher = fetcher
        self.logger = logger
        self.now = now
        let (stream, input) = AsyncStream<Job>.makeStream()
        jobs = (stream, input)
    }

    /// The keys that the app's identity provider has published; nil without a `jwksURL`. Does not wait: keys that are
    /// to be refreshed stay in use meanwhile.
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

    /// Fetches the keys of an app for whose JWT a key is missing, unless that was done a moment ago, and waits.
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
                // The app had another URL before.
                state.entries = state.entries.filter { other, entry in
                    other.app != subject.app || entry.keys.isFetching || now - entry.createdAt < ProviderKeys.pause
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
    /// Fetches what the loops ask for until it is cancelled, and then what has begun.
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
        guard let (set, refused) = KeySet.published(published.text) else {
            throw KeySetFailure(reason: "it is no JSON Web Key Set of at most \(KeySet.keysMax) keys")
        }
        if refused > 0 {
            logger.notice(
                "keys of a key set are left out: they cannot verify a JWT, or are no public keys",
                metadata: [
                    "app": "\(job.id)", "provider": "\(job.subject.url.origin)", "keys": "\(refused)",
                ])
        }
        guard !set.keys.isEmpty else { throw KeySetFailure(reason: "no key of it verifies JWTs") }
        return (set.keys, published.maxAge)
    }

    /// Records the end of a fetch.
    ///
    /// - Returns: how long the keys in use will be.
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

    /// Resumes those who wait for the end of a fetch.
    private func wake(_ subject: Subject) {
        let waiting = state.withLock { state in
            defer { state.entries[subject]?.waiting = [] }
            return state.entries[subject]?.waiting ?? []
        }
        for continuation in waiting { continuation.resume() }
    }
}
