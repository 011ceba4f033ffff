import PostgresClient

/// Units of statements of which each depends on the results of the one before. A value, so that a loop's connection and
/// a blocking session drive the same steps.
package enum Steps<Value> {
    case send([PostgresStatement], then: ([PostgresResult]) throws -> Steps)
    case end(Value)

    /// Sends the units one after another.
    package func run(_ send: ([PostgresStatement]) async throws -> [PostgresResult]) async throws -> Value {
        var steps = self
        while case .send(let unit, let then) = steps { steps = try then(try await send(unit)) }
        return steps.value
    }

    /// The same in a blocking session.
    package func runBlocking(_ send: ([PostgresStatement]) throws -> [PostgresResult]) throws -> Value {
        var steps = self
        while case .send(let unit, let then) = steps { steps = try then(try send(unit)) }
        return steps.value
    }

    /// **Blocks** the session's thread.
    package func run(in session: PostgresSession) throws -> Value {
        try runBlocking { try $0.map(session.execute) }
    }

    private var value: Value {
        guard case .end(let value) = self else { preconditionFailure("the steps have not ended") }
        return value
    }

    /// These steps, and those that follow from their value.
    func then<Next>(_ next: @escaping (Value) throws -> Steps<Next>) throws -> Steps<Next> {
        switch self {
        case .send(let unit, let then): .send(unit) { try then($0).then(next) }
        case .end(let value): try next(value)
        }
    }
}
