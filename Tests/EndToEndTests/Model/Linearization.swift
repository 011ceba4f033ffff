import RegistryTestSupport

/// A call with its response, and the times of both.
struct ModelStep: Sendable {
    let call: ModelCall
    let sent: Int64
    /// When the response came; without one, when nothing of the call could go on any more.
    let received: Int64
    /// Nil if none came.
    let response: HTTPResponse?
    /// The response's body, parsed once: a search compares it again and again.
    let json: JSON
    private var clock = ModelClock()

    /// Whether PostgreSQL's clock has stepped in the call's round.
    var hasSteppedClock: Bool { clock.aheads.count > 1 }

    init(call: ModelCall, sent: Int64, received: Int64, response: HTTPResponse?) {
        (self.call, self.sent, self.received, self.response) = (call, sent, received, response)
        json = response?.json ?? .null
    }

    /// The same call in a round with this clock.
    func by(_ clock: ModelClock) -> ModelStep {
        var step = self
        step.clock = clock
        return step
    }

    /// As a call that may go on until this moment.
    func lasting(until end: Int64) -> ModelStep { ModelStep(self, received: end) }

    private init(_ step: ModelStep, received: Int64) {
        (call, sent, response, json, clock) = (step.call, step.sent, step.response, step.json, step.clock)
        self.received = received
    }

    /// Whether the response says what happened. A call without one, and one that was refused because of a failure, may
    /// have taken effect, and may do so until the end of the round.
    var isAnswered: Bool { response.map { $0.status < 500 } ?? false }

    /// What the oracle takes from the response: the service's time. More than one if the clock has stepped.
    private var possible: [Oracle.Moment] {
        clock.times(from: sent, to: received).map { times in
            var moment = Oracle.Moment(sent: times.lowerBound, received: times.upperBound, latest: clock.latest)
            guard response != nil else { return moment }
            moment.seenAt = seenAt
            moment.generation = json["generation"].integer
            return moment
        }
    }

    fileprivate var moment: Oracle.Moment { possible[0] }

    /// The times at which the service may have executed the call, as far as they make a difference. Feedback dates from
    /// its receipt, which may be before or after each concurrent registration. A logout refuses the JWTs of earlier
    /// seconds, so it matters in which second it was. A registration without a response is somewhere in the tables or
    /// in later responses; if not, only feedback can tell its time.
    fileprivate func moments(on oracle: Oracle, _ evidence: Evidence) -> [Oracle.Moment] {
        possible.flatMap { moments(near: $0, on: oracle, evidence) }
    }

    private func moments(near moment: Oracle.Moment, on oracle: Oracle, _ evidence: Evidence) -> [Oracle.Moment] {
        let (sent, received) = (moment.sent, moment.received)
        switch call {
        case .feedback:
            let registrations = oracle.phones.values.map(\.seenAt).filter { $0 > sent && $0 < received }
            return ([sent] + registrations + [received]).map { Oracle.Moment(sent: $0, received: received) }
        case .logOut, .endSession, .logOutUser, .erase:
            let seconds = stride(from: (sent / 1_000_000 + 1) * 1_000_000, through: received, by: 1_000_000)
            return ([sent] + seconds).map { Oracle.Moment(sent: $0, received: received) }
        case .register(let registration) where !isAnswered:
            let possible = sent...max(received, clock.latest)
            let times = evidence.times[registration.phone, default: []].filter(possible.contains)
            return (times + [sent, received]).map { time in
                var moment = Oracle.Moment(sent: sent, received: received, latest: clock.latest, seenAt: time)
                moment.generation = evidence.tables.nextGeneration(of: registration.phone, after: oracle)
                return moment
            }
        case .register, .read, .list, .remove, .expire: return [moment]
        }
    }

    /// Of a registration, derived from `registerAgainBefore`.
    fileprivate var seenAt: Int64? {
        guard case .register(let registration) = call else { return nil }
        let days: Int64 = registration.provider == "apnsSandbox" ? 30 : 60
        return json["registerAgainBefore"].string.flatMap(Wall.microseconds).map { $0 - days * 86_400_000_000 }
    }

    /// Whether the response is the expected one.
    fileprivate func agrees(with expected: Oracle.Response) -> Bool {
        guard let response, response.status == expected.status else { return false }
        if case .number(let generation)? = expected.members["generation"], let tag = response["ETag"],
            tag != "\"\(generation)\""
        {
            return false
        }
        return expected.members.allSatisfy { name, value in agrees(name, with: value) }
    }

    private func agrees(_ name: String, with value: ModelValue) -> Bool {
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

extension ModelStep: CustomStringConvertible {
    var description: String {
        "\(call)\n  sent \(sent), "
            + (response.map { "received \(received): \($0.status) \($0.text)" } ?? "no response")
    }
}

/// What the tables and the responses say about calls without a response.
private struct Evidence {
    let tables: ModelTables
    /// The times of each phone.
    var times: [String: Set<Int64>]

    init(_ steps: [ModelStep], _ tables: ModelTables) {
        (self.tables, times) = (tables, tables.times)
        for step in steps {
            guard case .register(let registration) = step.call, let seenAt = step.moment.seenAt else { continue }
            times[registration.phone, default: []].insert(seenAt)
        }
    }
}

/// The search for a serial order of calls that were made at the same time (Wing and Gong, Testing and verifying
/// concurrent objects, 1993; with the memory of Lowe, Testing for linearizability, 2017). In this order, no call
/// precedes one that had ended before it was sent; the oracle returns every response that was received; and the
/// oracle's final state equals the tables. A call without a response stands somewhere after its sending, or nowhere.
///
/// One step may come earlier than the rest of its call: a registration's session counts as seen once the service has
/// the registration, even if the session is ended before the service decides.
struct Linearization {
    /// At most 64, those with an answer first, by their time.
    private let steps: [ModelStep]
    private let evidence: Evidence

    private var deadEnds = Set<Position>()
    /// The furthest position of the search, for the error.
    private var furthest: Position?

    /// The set of executed steps, a bit each, and the resulting state.
    private struct Position: Hashable {
        var done: UInt64
        var oracle: Oracle
    }

    /// More than a round of 12 calls needs, even if none was answered.
    private static let deadEndsMax = 100_000

    init(_ steps: [ModelStep], leadingTo tables: ModelTables) {
        self.steps =
            steps.filter(\.isAnswered).sorted { $0.received < $1.received } + steps.filter { !$0.isAnswered }
        evidence = Evidence(steps, tables)
    }

    /// - Returns: the oracle at the end of the order.
    /// - Throws: `NoSerialOrder`.
    mutating func end(from oracle: Oracle) throws(NoSerialOrder) -> Oracle {
        let start = Position(done: 0, oracle: oracle)
        guard let end = search(start) else { throw NoSerialOrder(description: explanation) }
        return end
    }

    private mutating func search(_ position: Position) -> Oracle? {
        if position.done.nonzeroBitCount >= furthest?.done.nonzeroBitCount ?? 0 { furthest = position }
        let next = next(position)
        if !next.contains(where: { steps[$0].isAnswered }),
            evidence.tables.differences(from: position.oracle).isEmpty
        {
            return position.oracle
        }
        guard deadEnds.count < Self.deadEndsMax, !deadEnds.contains(position) else { return nil }
        for index in next {
            let step = steps[index]
            for moment in step.moments(on: position.oracle, evidence) {
                var after = position
                after.done |= 1 << UInt64(index)
                let response = after.oracle.execute(step.call, at: moment)
                guard step.isAnswered ? step.agrees(with: response) : after.oracle != position.oracle else { continue }
                guard evidence.tables.continueHistory(of: after.oracle) else { continue }
                if let end = search(after) { return end }
            }
        }
        deadEnds.insert(position)
        return nil
    }

    /// The steps that may come next: those that were sent before the first outstanding response.
    private func next(_ position: Position) -> [Int] {
        let open = steps.indices.filter { position.done & (1 << UInt64($0)) == 0 }
        let firstResponse = open.first.map { steps[$0].isAnswered ? steps[$0].received : .max } ?? .max
        return open.filter { steps[$0].sent <= firstResponse }
    }

    private var explanation: String {
        guard let position = furthest else { return "" }
        let found = deadEnds.count < Self.deadEndsMax ? "No serial order explains" : "The search gave up explaining"
        var lines = ["\(found) the responses and the tables. All calls, by the time of the response:"]
        lines += steps.map { "\($0)" } + ["The longest attempt left:"]
        for step in next(position).map({ steps[$0] }) where step.isAnswered {
            var oracle = position.oracle
            let expected = oracle.execute(step.call, at: step.moment)
            lines += ["\(step)", "  expected: \(expected.status) \(expected.members)"]
        }
        return (lines + evidence.tables.differences(from: position.oracle)).joined(separator: "\n")
    }
}

struct NoSerialOrder: Error, CustomStringConvertible {
    let description: String
}
