/// One unit in flight: its statements, and their responses so far. A value without I/O.
struct PipelineUnit {
    /// A command whose response is one result, in the order sent.
    enum Step {
        case deallocate
        case prepare(Int)
        case execute(Int)
    }

    /// Resumed exactly once: when the unit is refused, at its Sync, or when the connection closes.
    typealias Completion = UnsafeContinuation<Result<[PostgresResult], PostgresError>, Never>

    let statements: [PostgresStatement]
    let deadline: ContinuousClock.Instant
    let completion: Completion
    var steps: [Step] = []
    private var responseCount = 0
    private(set) var results: [PostgresResult] = []
    /// The first failure; it causes the later ones.
    private(set) var error: PostgresError?

    init(statements: [PostgresStatement], deadline: ContinuousClock.Instant, completion: Completion) {
        self.statements = statements
        self.deadline = deadline
        self.completion = completion
        results.reserveCapacity(statements.count)
    }

    /// The change of the connection's statement cache that a response causes.
    enum CacheChange {
        case none
        case prepared(PostgresStatement.Preparation)
        case invalidated(PostgresStatement.Preparation)
    }

    mutating func receive(_ result: ResultHandle) -> CacheChange {
        guard responseCount < steps.count else { return receiveCommitResult(result) }
        defer { responseCount += 1 }
        let outcome = result.outcome
        if case .failure(let error) = outcome { fail(error, steps[responseCount]) }
        switch (steps[responseCount], outcome) {
        case (.prepare(let index), .success): return .prepared(statements[index].preparation)
        case (.prepare(let index), _): return .invalidated(statements[index].preparation)
        case (.execute(let index), .failure(let error)) where error.kind == .stalePlan:
            return .invalidated(statements[index].preparation)
        case (.execute, .success): results.append(PostgresResult(result))
        default: break
        }
        return .none
    }

    /// Records a failure without a response: the connection is lost.
    mutating func fail(_ error: PostgresError) {
        self.error = self.error ?? error
    }

    private mutating func fail(_ error: PostgresError, _ step: Step) {
        switch step {
        case .deallocate: fail(error)
        case .prepare(let index), .execute(let index): fail(error.about(statements[index].text))
        }
    }

    /// After the last response, the Sync commits. The commit itself may fail, for example by a deferred constraint.
    private mutating func receiveCommitResult(_ result: ResultHandle) -> CacheChange {
        if case .failure(let error) = result.outcome { fail(error) }
        return .none
    }

    func complete() {
        completion.resume(returning: error.map(Result.failure) ?? .success(results))
    }
}
