import RegistryTestSupport

/// A call with its answer, and when it was sent and answered.
struct ModelStep: Sendable {
    let call: ModelCall
    let sent: Int64
    let answered: Int64
    let response: HTTPResponse

    /// What the oracle may take from the answer: the service's clock.
    var moment: Oracle.Moment {
        var moment = Oracle.Moment(sent: sent, answered: answered)
        guard case .register(let registration) = call else { return moment }
        moment.seenAt = seenAt(registration)
        moment.generation = response.generation
        return moment
    }

    /// The moments at which the service may have received it, as far as they make a difference: feedback is of its
    /// receipt, which may be before or after each sight of an installation that was meanwhile.
    func moments(among phones: some Sequence<Oracle.Phone>) -> [Oracle.Moment] {
        guard case .feedback = call else { return [moment] }
        let sights = phones.map(\.seenAt).filter { $0 > sent && $0 < answered }
        return ([sent] + sights + [answered]).map { Oracle.Moment(sent: $0, answered: answered) }
    }

    /// `registerAgainBefore` tells when the service saw the installation.
    private func seenAt(_ registration: ModelRegistration) -> Int64? {
        let days: Int64 = registration.provider == "apnsSandbox" ? 30 : 60
        return response.json["registerAgainBefore"].string.flatMap(Wall.microseconds).map { $0 - days * 86_400_000_000 }
    }

    /// Whether the answer is the one that is due.
    func agrees(with answer: Oracle.Answer) -> Bool {
        guard response.status == answer.status else { return false }
        if case .number(let generation)? = answer.members["generation"], let tag = response["ETag"],
            tag != "\"\(generation)\""
        {
            return false
        }
        let json = response.json
        return answer.members.allSatisfy { name, value in agrees(json, name, with: value) }
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
/// concurrent objects, 1993): one in which no call comes before another that had been answered when it was sent, in
/// which the oracle gives every answer that was given, and whose end is what the tables say.
struct Linearization {
    /// Of each client, in its order.
    let logs: [[ModelStep]]
    let tables: ModelTables

    private var dead = Set<Place>()
    /// Where the search came furthest, to tell.
    private var furthest: (place: Place, oracle: Oracle)?

    /// How many calls of each client are done, and what they led to.
    private struct Place: Hashable {
        var done: [Int]
        let oracle: Oracle

        var count: Int { done.reduce(0, +) }
    }

    init(_ logs: [[ModelStep]], leadingTo tables: ModelTables) {
        self.logs = logs
        self.tables = tables
    }

    /// - Returns: the oracle at the end of such an order.
    /// - Throws: `NoSerialOrder`.
    mutating func end(from oracle: Oracle) throws -> Oracle {
        guard let end = search(Place(done: logs.map { _ in 0 }, oracle: oracle)) else {
            throw NoSerialOrder(description: explanation)
        }
        return end
    }

    private mutating func search(_ place: Place) -> Oracle? {
        if place.count >= furthest?.place.count ?? 0 { furthest = (place, place.oracle) }
        if place.count == logs.reduce(0, { $0 + $1.count }) {
            return tables.differences(from: place.oracle).isEmpty ? place.oracle : nil
        }
        guard !dead.contains(place) else { return nil }
        for (client, step) in next(place) {
            for moment in step.moments(among: place.oracle.phones.values) {
                var oracle = place.oracle
                guard step.agrees(with: oracle.carryOut(step.call, at: moment)) else { continue }
                var done = place.done
                done[client] += 1
                if let end = search(Place(done: done, oracle: oracle)) { return end }
            }
        }
        dead.insert(place)
        return nil
    }

    /// The calls that may come next: those that were sent before any that is still to be carried out was answered.
    private func next(_ place: Place) -> [(client: Int, step: ModelStep)] {
        let heads = logs.indices.filter { place.done[$0] < logs[$0].count }.map { ($0, logs[$0][place.done[$0]]) }
        let firstAnswer = heads.map(\.1.answered).min() ?? .max
        return heads.filter { $0.1.sent <= firstAnswer }.sorted { $0.1.answered < $1.1.answered }
    }

    private var explanation: String {
        guard let (place, oracle) = furthest else { return "" }
        var lines = ["No serial order explains the answers and the tables. The longest attempt left:"]
        for (client, step) in next(place) {
            var after = oracle
            let answer = after.carryOut(step.call, at: step.moment)
            lines.append("client \(client): \(step.call)")
            lines.append("  due: \(answer.status) \(answer.members)")
            lines.append("  given: \(step.response.status) \(step.response.text)")
        }
        if next(place).isEmpty { lines += tables.differences(from: oracle) }
        return lines.joined(separator: "\n")
    }
}

struct NoSerialOrder: Error, CustomStringConvertible {
    let description: String
}
