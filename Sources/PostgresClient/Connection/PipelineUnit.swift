/// One unit under way: its statements, and their responses so far. A pure value.
struct PipelineUnit {
    /// A command whose response is one result, in the order sent.
    enum Step {
        case deallocate
        case prepare(Int)
        case execute(Int)
    }

    typealias Completion = CheckedContinuation<Result<[PostgresResult], PostgresError>, Never>

    let statements: [PostgresStatement]
    let deadline: ContinuousClock.Instant
    let completion: Completion
    var steps: [Step] = []
    private var answered = 0
    private(set) var results: [PostgresResult] = []
    /// The first failure, which the others follow from.
    private(set) var error: PostgresError?

    init(statements: [PostgresStatement], deadline: ContinuousClock.Instant, completion: Completion) {
        self.statements = statements
        self.deadline = deadline
        self.completion = completion
        results.reserveCapacity(statements.count)
    }

    /// Changes of the connection's cache that follow from a response.
    enum Lesson {
        case nothing
        case confirmed(PostgresStatement.Preparation)
        case forgotten(PostgresStatement.Preparation)
    }

    mutating func take(_ result: ResultHandle) -> Lesson {
        guard answered < steps.count else { return takeVerdictOfCommit(result) }
        defer { answered += 1 }
        let outcome = result.outcome
        if case .failure(let error) = outcome { fail(error, steps[answered]) }
        switch (steps[answered], outcome) {
        case (.prepare(let index), .success): return .confirmed(statements[index].preparation)
        case (.prepare(let index), _): return .forgotten(statements[index].preparation)
        case (.execute(let index), .failure(let error)) where error.kind == .stalePlan:
            return .forgotten(statements[index].preparation)
        case (.execute, .success): results.append(PostgresResult(result))
        default: break
        }
        return .nothing
    }

    /// Steps without a response: their connection is gone.
    mutating func fail(_ error: PostgresError) {
        self.error = self.error ?? error
    }

    private mutating func fail(_ error: PostgresError, _ step: Step) {
        switch step {
        case .deallocate: fail(error)
        case .prepare(let index), .execute(let index): fail(error.about(statements[index].text))
        }
    }

    /// After the last response, the Sync commits. The commit may fail by itself: a deferred constraint.
    private mutating func takeVerdictOfCommit(_ result: ResultHandle) -> Lesson {
        if case .failure(let error) = result.outcome { fail(error) }
        return .nothing
    }

    func complete() {
        completion.resume(returning: error.map(Result.failure) ?? .success(results))
    }
}
