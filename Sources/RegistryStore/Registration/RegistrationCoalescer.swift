import EventLoop
import PostgresClient
import PushRegistry

/// Takes registrations one by one and carries them to PostgreSQL many at a time (R2, R15).
///
/// All that arrive during one round trip share the next look-up, which answers those that change nothing. The rest go on to
/// a writer, which takes all that wait into one transaction. One coalescer lives on each event loop.
public actor RegistrationCoalescer {
    /// Registrations that wait for a look-up or a write; more are refused. About two seconds of work.
    static let waitingMax = 16_384
    /// Registrations in one look-up.
    static let lookUpMax = 512
    /// Registrations in one transaction: enough to share its cost, few enough to hold their locks for milliseconds.
    static let writeMax = 128
    /// Transactions under way at once. As a rule it is one, so that batches grow; a second one goes past one that takes
    /// longer than `patience`, for it waits for a lock that somebody holds.
    static let transactionsMax = 2
    static let patience = Duration.milliseconds(25)

    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let transactions: RegistrationTransactions
    private let meters = StoreMeters()
    private var arrivals = BatchQueue<PendingRegistration>(countMax: waitingMax, batchMax: lookUpMax)
    private var changes = BatchQueue<PendingRegistration>(countMax: waitingMax, batchMax: writeMax)
    private var transactionCount = 0
    private var nextWrite: CheckedContinuation<Void, Never>?

    public init(loop: EventLoop, postgres: PostgresClient) {
        self.loop = loop
        transactions = RegistrationTransactions(postgres: postgres, meters: meters)
    }

    /// - Throws: `RegistrationRefusal`, `StoreError`.
    public func register(_ registration: Registration) async throws -> RegistrationOutcome {
        try await withCheckedThrowingContinuation { continuation in
            let pending = PendingRegistration(registration, continuation)
            if !arrivals.append(pending) { refuse(pending, arrivals.isFinished) }
        }
    }

    /// Carries registrations until it is cancelled. Those that wait then are refused.
    public func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.lookUpArrivals() }
                group.addTask { await self.writeChanges() }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
        }
    }

    private func finish() {
        for pending in arrivals.finish() + changes.finish() { pending.refuse(.unavailable) }
    }

    private func lookUpArrivals() async {
        while !arrivals.isFinished {
            await withCheckedContinuation { arrivals.park($0) }
            let batch = arrivals.takeBatch()
            if !batch.isEmpty { await lookUp(batch) }
        }
    }

    /// R2: what the registry knows already is answered from one read. All else needs the locks of a transaction.
    private func lookUp(_ batch: [PendingRegistration]) async {
        meters.lookedUp(batch.count)
        do {
            let found = try await transactions.lookUp(batch)
            for (var pending, finding) in zip(batch, found) {
                switch finding {
                case .unchanged(let outcome):
                    pending.finish(.success(outcome))
                case .known:
                    pending.wasKnown = true
                    queueChange(pending)
                case .unknown:
                    queueChange(pending)
                }
            }
        } catch {
            for pending in batch { pending.refuse(StoreError(error)) }
        }
    }

    private func queueChange(_ pending: PendingRegistration) {
        if !changes.append(pending) { refuse(pending, changes.isFinished) }
    }

    private func refuse(_ pending: PendingRegistration, _ isFinished: Bool) {
        meters.refused()
        pending.refuse(isFinished ? .unavailable : .overloaded)
    }

    private func writeChanges() async {
        let patience = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.mayWriteNext() } }
        await withDiscardingTaskGroup { group in
            while !changes.isFinished {
                await withCheckedContinuation { changes.park($0) }
                // Each of an installation's registrations finds what the one before left.
                let batch = changes.takeBatch(distinctBy: \.registration.key)
                guard !batch.isEmpty else { continue }
                transactionCount += 1
                group.addTask(executorPreference: loop) { await self.write(batch) }
                patience.set(after: Self.patience)
                await withCheckedContinuation {
                    nextWrite = $0
                    // The batch may have been written while this task was on its way here.
                    if transactionCount == 0 { mayWriteNext() }
                }
            }
        }
    }

    private func write(_ batch: [PendingRegistration]) async {
        meters.wrote(batch.count)
        await transactions.write(batch)
        transactionCount -= 1
        mayWriteNext()
    }

    private func mayWriteNext() {
        guard transactionCount < Self.transactionsMax else { return }
        nextWrite?.resume()
        nextWrite = nil
    }
}

/// A registration that somebody awaits. It moves from queue to queue, so it is small.
struct PendingRegistration: Sendable {
    private let content: Content
    /// Whether the look-up found the installation as its last registration left it, with the same token.
    var wasKnown = false

    private final class Content: Sendable {
        let registration: Registration
        let digest: [UInt8]
        let continuation: CheckedContinuation<RegistrationOutcome, any Error>

        init(_ registration: Registration, _ continuation: CheckedContinuation<RegistrationOutcome, any Error>) {
            self.registration = registration
            self.continuation = continuation
            digest = RegistrationDigest.make(registration)
        }
    }

    init(_ registration: Registration, _ continuation: CheckedContinuation<RegistrationOutcome, any Error>) {
        content = Content(registration, continuation)
    }

    var registration: Registration { content.registration }
    /// Of all that the registration says: its binding and its snapshot.
    var digest: [UInt8] { content.digest }

    func finish(_ result: Result<RegistrationOutcome, RegistrationRefusal>) {
        content.continuation.resume(with: result.mapError { $0 as any Error })
    }

    func refuse(_ error: StoreError) {
        content.continuation.resume(throwing: error)
    }
}
