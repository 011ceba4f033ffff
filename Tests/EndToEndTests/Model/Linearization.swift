import RegistryTestSupport

/// A call with its response, and the times of both.
struct ModelStep: Sendable {
    let call: ModelCall
    let sent: Int64
    let received: Int64
    let response: HTTPResponse

    /// What the oracle takes from the response: the service's time.
    var moment: Oracle.Moment {
        var moment = Oracle.Moment(sent: sent, received: received)
        guard case .register(let registration) = call else { return moment }
        moment.seenAt = seenAt(registration)
        moment.generation = response.generation
        return moment
    }

    /// The times at which the service may have executed the call, as far as they make a difference. Feedback dates from
    /// its receipt, which may be before or after each concurrent registration. A logout refuses the JWTs of earlier
    /// seconds, so it matters in which second it was.
    func moments(among phones: some Sequence<Oracle.Phone>) -> [Oracle.Moment] {
        switch call {
        case .feedback:
            let registrations = phones.map(\.seenAt).filter { $0 > sent && $0 < received }
            return ([sent] + registrations + [received]).map { Oracle.Moment(sent: $0, received: received) }
        case .logOut, .endSession, .logOutUser, .erase:
            let seconds = stride(from: (sent / 1_000_000 + 1) * 1_000_000, through: received, by: 1_000_000)
            return ([sent] + seconds).map { Oracle.Moment(sent: $0, received: received) }
        case .register, .read, .list, .remove: return [moment]
        }
    }

    /// Derived from `registerAgainBefore`.
    private func seenAt(_ registration: ModelRegistration) -> Int64? {
        let days: Int64 = registration.provider == "apnsSandbox" ? 30 : 60
        return response.json["registerAgainBefore"].string.flatMap(Wall.microseconds).map { $0 - days * 86_400_000_000 }
    }

    /// Whether the response is the expected one.
    func agrees(with expected: Oracle.Response) -> Bool {
        guard response.status == expected.status else { return false }
        if case .number(let generation)? = expected.members["generation"], let tag = response["ETag"],
            tag != "\"\(generation)\""
        {
            return false
        }
        let json = response.json
        return expected.members.allSatisfy { name, value in agrees(json, name, with: value) }
    }

    private func agrees(_ json: JSON, _ name: String, with value: ModelValue) -> Bool {
        switch (name, value) {
        case ("seenAt", .number(let time)): moment.seenAt == time
        case ("installations", .texts(let ids)): json[name].array.compactMap { $0["installId"].string } == ids
        case ("authorizationStatus", .text(let text)): json["settings"][name].string == text
        case ("keychainId", .text(let text)), ("vendorId", .text(let text)): json["device"][name].string == text
        case (_, .text(let text)): json[name].string == text
        case (_, .number(let number)): json[name].integer == number
        case (_, .flag(let flag)): json[name] == .boolean(flag)
        case (_, .texts): false
        }
    }
}

/// The search for a serial order of calls that were made at the same time (Wing and Gong, Testing and verifying
/// concurrent objects, 1993). In this order, no call precedes one that had ended before it was sent; the oracle returns
/// every response that was received; and the oracle's final state equals the tables.
///
/// One step may come earlier than the rest of its call: a registration's session counts as seen once the service has
/// the registration, even if the session is ended before the service decides.
struct Linearization {
    /// The calls of each client, in order.
    let logs: [[ModelStep]]
    let tables: ModelTables

    private var deadEnds = Set<Position>()
    /// Whether sessions may be seen before the rest of their registration. Only tried if there is no order without it,
    /// because it multiplies the orders.
    private var seesSessionsEarly = false
    /// The furthest position of the search, for the error.
    private var furthest: Position?

    /// The number of executed calls of each client, and the resulting state.
    private struct Position: Hashable {
        var done: [Int]
        var oracle: Oracle

        var count: Int { done.reduce(0, +) }
    }

    init(_ logs: [[ModelStep]], leadingTo tables: ModelTables) {
        self.logs = logs
        self.tables = tables
    }

    /// - Returns: the oracle at the end of the order.
    /// - Throws: `NoSerialOrder`.
    mutating func end(from oracle: Oracle) throws -> Oracle {
        let start = Position(done: logs.map { _ in 0 }, oracle: oracle)
        if let end = search(start) { return end }
        seesSessionsEarly = true
        deadEnds = []
        guard let end = search(start) else { throw NoSerialOrder(description: explanation) }
        return end
    }

    private mutating func search(_ position: Position) -> Oracle? {
        if position.count >= furthest?.count ?? 0 { furthest = position }
        if position.count == logs.reduce(0, { $0 + $1.count }) {
            return tables.differences(from: position.oracle).isEmpty ? position.oracle : nil
        }
        guard !deadEnds.contains(position) else { return nil }
        for (client, step) in next(position) {
            if seesSessionsEarly, case .register(let registration) = step.call {
                var seen = position
                seen.oracle.seeSession(of: registration.credential)
                if seen != position, let end = search(seen) { return end }
            }
            for moment in step.moments(among: position.oracle.phones.values) {
                var oracle = position.oracle
                guard step.agrees(with: oracle.execute(step.call, at: moment)) else { continue }
                var done = position.done
                done[client] += 1
                if let end = search(Position(done: done, oracle: oracle)) { return end }
            }
        }
        deadEnds.insert(position)
        return nil
    }

    /// The calls that may come next: those that were sent before the first pending response.
    private func next(_ position: Position) -> [(client: Int, step: ModelStep)] {
        let heads = logs.indices.filter { position.done[$0] < logs[$0].count }
            .map { ($0, logs[$0][position.done[$0]]) }
        let firstResponse = heads.map(\.1.received).min() ?? .max
        return heads.filter { $0.1.sent <= firstResponse }.sorted { $0.1.received < $1.1.received }
    }

    private var explanation: String {
        guard let position = furthest else { return "" }
        var lines = ["No serial order explains the responses and the tables. The longest attempt left:"]
        for (client, step) in next(position) {
            var oracle = position.oracle
            let expected = oracle.execute(step.call, at: step.moment)
            lines.append("client \(client): \(step.call)")
            lines.append("  expected: \(expected.status) \(expected.members)")
            lines.append("  received: \(step.response.status) \(step.response.text)")
        }
        if next(position).isEmpty { lines += tables.differences(from: position.oracle) }
        return lines.joined(separator: "\n")
    }
}

struct NoSerialOrder: Error, CustomStringConvertible {
    let description: String
}
