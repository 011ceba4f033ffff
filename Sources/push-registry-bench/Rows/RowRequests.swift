import FleetGenerator
import PushRegistry

/// The requests of each row. Rows do not share installations, because a changed one is no longer unchanged.
struct RowRequests {
    /// More first registrations than the service can handle in a second.
    private static let firstPerSecondMax = 15_000

    let unchanged: RequestSequence
    let changed: RequestSequence
    /// To installations that allow pushes, at random: what waits for them grows.
    let posts: RequestSequence
    let fetches: RequestSequence
    let healthz = RequestSequence(
        RequestPool([Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)]), .random)
    private let fleet: Fleet
    private let writer: RegistrationWriter
    private let count: Int
    private let step: Int

    /// The items of one feedback call: the maximum.
    static let feedbackItems = 10_000

    /// - Parameter installationsMax: the size of each pool, taken at even distances from the whole fleet. A large pool
    ///   touches nearly every page of the table.
    init(_ fleet: Fleet, key: String, installationsMax: Int, rows: [RunRow]) {
        let writer = RegistrationWriter(app: fleet.app.id, key: key)
        let count = max(1, min(installationsMax, fleet.count / 6))
        let step = fleet.count / count
        let numbers = (0..<count).lazy.map { $0 * step }
        unchanged = RequestSequence(
            RequestPool(
                rows.contains { $0 == .unchanged || $0.isComparedToUnchanged }
                    ? numbers.map { writer.request(fleet[$0]) } : []), .random)
        let twice = numbers.flatMap { number in
            let installation = fleet[number + step / 2]
            return [1, 2].map { writer.request(installation, settings: installation.settings.toggled($0)) }
        }
        posts = RequestSequence(
            RequestPool(
                rows.contains(.post)
                    ? numbers.map { fleet[$0 + 3] }.filter { $0.settings.authorizationStatus == .authorized }
                        .map(writer.post) : []), .random)
        fetches = RequestSequence(
            RequestPool(rows.contains(.fetch) ? numbers.map { writer.fetch(of: fleet[$0]) } : []), .random)
        let wantsChanged = rows.contains { $0 == .changed || $0.isComparedToChanged }
        changed = RequestSequence(RequestPool(wantsChanged ? Array(twice) : []), .alternating)
        (self.fleet, self.writer, self.count, self.step) = (fleet, writer, count, step)
    }

    /// The installations of a row that changes each of them once; each round has its own. `offset` differs between the
    /// rows; unchanged registrations have 0, changed ones half a step.
    private func numbers(_ offset: Int, round: Int, of rounds: Int) -> [Int] {
        ((round - 1) * count / rounds..<round * count / rounds).map { $0 * step + offset }
    }

    func logouts(round: Int, of rounds: Int) -> RequestSequence {
        RequestSequence(RequestPool(numbers(1, round: round, of: rounds).map { writer.logout(of: fleet[$0]) }), .once)
    }

    /// The topic that patches choose and leave.
    static let topic = "bench"

    /// The installations of unchanged registrations, which stay unchanged.
    func topics(round: Int, of rounds: Int) -> RequestSequence {
        let twice = numbers(0, round: round, of: rounds).flatMap { number in
            [true, false].map { writer.topics(of: fleet[number], Self.topic, $0) }
        }
        return RequestSequence(RequestPool(twice), .alternating)
    }

    /// Takeovers by installations that no other row uses.
    func takeovers(round: Int, of rounds: Int) -> RequestSequence {
        let requests = numbers(step / 2 + 1, round: round, of: rounds).map { number in
            writer.takeover(of: fleet[number], by: fleet[Self.newcomers + number])
        }
        return RequestSequence(RequestPool(requests), .once)
    }

    /// The same installations under another user, as when another person signs in on a phone.
    func ownerChanges(round: Int, of rounds: Int) throws -> RequestSequence {
        let requests = try numbers(2, round: round, of: rounds).map { number in
            try writer.ownerChange(of: fleet[number], to: "next-\(number)")
        }
        return RequestSequence(RequestPool(requests), .once)
    }

    /// Far beyond the first registrations of any run.
    private static let newcomers = 1_000_000_000

    /// Calls with one token of each of these installations.
    func feedback(round: Int, of rounds: Int) -> [[UInt8]] {
        let numbers = numbers(step - 1, round: round, of: rounds)
        return stride(from: 0, to: numbers.count, by: Self.feedbackItems).map { start in
            writer.feedback(about: numbers[start...].prefix(Self.feedbackItems).map { fleet[$0] })
        }
    }

    /// Installations that no earlier round used.
    func first(round: Int, seconds: Int) -> RequestSequence {
        let count = seconds * Self.firstPerSecondMax
        let start = fleet.count + round * count
        return RequestSequence(RequestPool((start..<start + count).lazy.map { writer.request(fleet[$0]) }), .once)
    }
}
