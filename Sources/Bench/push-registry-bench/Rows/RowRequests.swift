import FleetGenerator
import PushRegistry

/// The requests of each row. Rows do not share installations, because a changed one is no longer unchanged.
struct RowRequests {
    /// More first registrations than the service can handle in a second.
    private static let firstPerSecondMax = 15_000
    /// Far beyond the first registrations of any run.
    private static let newcomers = 1_000_000_000
    /// The items of one feedback call: the maximum.
    static let feedbackItems = 10_000
    /// The connections of feedback: enough calls for both event loops, wherever the kernel puts the connections, so
    /// that the service never waits for the next call.
    static let feedbackConnections = 8
    /// The topic that patches choose and leave.
    static let topic = "bench"
    /// The installations of users with JWTs, none of which the fleet has.
    private static let signedNumbers = 3_000_000_000..<3_000_002_000
    /// The installations with typed tokens, likewise.
    private static let typedNumbers = 3_100_000_000..<3_100_004_000
    private static let blockingMax = 2_000

    /// The requests of a row, and what its responses have.
    typealias Load = (requests: RequestFile?, expected: Wrk.Expectation)

    private let unchanged: RequestFile
    private let changed: RequestFile
    private let fetches: RequestFile
    private let fleet: Fleet
    private let writer: RegistrationWriter
    private let count: Int
    private let step: Int

    /// - Parameter installationsMax: the number of installations of each row, taken at even distances from the whole
    ///   fleet. A large number touches nearly every page of the table.
    init(_ fleet: Fleet, key: String, installationsMax: Int) {
        let writer = RegistrationWriter(app: fleet.app.id, key: key)
        let count = max(1, min(installationsMax, fleet.count / 6))
        let step = fleet.count / count
        let numbers = (0..<count).map { $0 * step }
        unchanged = RequestFile(numbers, .cyclic) { number, _ in writer.request(fleet[number]) }
        changed = RequestFile(numbers.map { $0 + step / 2 }, variants: 2, .cyclic) { number, variant in
            writer.request(fleet[number], settings: fleet[number].settings.toggled(1 + variant))
        }
        fetches = RequestFile(numbers, .cyclic) { number, _ in writer.fetch(of: fleet[number]) }
        (self.fleet, self.writer, self.count, self.step) = (fleet, writer, count, step)
    }

    /// Nil for a row without requests. Rows that need new installations have other ones in each round.
    func load(of row: RunRow, round: Int, of rounds: Int, seconds: Int) -> Load? {
        switch row {
        case .healthz: (nil, .noError)
        case .unchanged: (unchanged, .unchanged)
        case .changed: (changed, .updated)
        case .first: (first(round: round, seconds: seconds + RunOptions.warmUpSeconds), .created)
        case .takeover: (takeovers(round: round, of: rounds), .created)
        case .ownerChange: (ownerChanges(round: round, of: rounds), .updated)
        case .logout: (logouts(round: round, of: rounds), .loggedOut)
        case .topics: (topics(round: round, of: rounds), .noError)
        case .post: (posts(round: round, of: rounds), .posted)
        case .fetch: (fetches, .nothingMissed)
        case .feedback: (feedback(round: round, of: rounds), .counts)
        case .engine: nil
        }
    }

    /// The installations of a row that changes each of them once; each round has its own. `offset` differs between the
    /// rows; unchanged registrations have 0, changed ones half a step.
    private func numbers(_ offset: Int, round: Int, of rounds: Int) -> [Int] {
        ((round - 1) * count / rounds..<round * count / rounds).map { $0 * step + offset }
    }

    /// Registrations of installations of their own, with JWTs.
    static func signed(_ fleet: Fleet, _ tokens: AppTokens, _ algorithm: AppTokens.Algorithm) -> RequestFile {
        let first = algorithm == .hs256 ? 0 : signedNumbers.count
        return RequestFile(signedNumbers.map { $0 + first }, .cyclic) { number, _ in
            let writer = RegistrationWriter(
                app: fleet.app.id, key: try tokens.token(of: "user-\(number)", algorithm))
            return writer.signed(fleet[number])
        }
    }

    /// Registrations of phones of Apple with typed tokens. A version without them ignores the member.
    static func typed(_ fleet: Fleet, key: String) -> RequestFile {
        let writer = RegistrationWriter(app: fleet.app.id, key: key)
        let phones = typedNumbers.filter { fleet[$0].token.provider.isApple }
        return RequestFile(phones, .cyclic) { number, _ in
            writer.request(fleet[number], tokens: ["voip", "widget", "complication", "liveActivityStart"])
        }
    }

    /// Some of the unchanged registrations.
    func unchangedRequests(_ fleet: Fleet) -> [[UInt8]] {
        (0..<min(count, Self.blockingMax)).map { writer.request(fleet[$0 * step]) }
    }

    private func logouts(round: Int, of rounds: Int) -> RequestFile {
        RequestFile(numbers(1, round: round, of: rounds), .once) { [fleet, writer] number, _ in
            writer.logout(of: fleet[number])
        }
    }

    /// To installations that allow pushes: what waits for them grows.
    private func posts(round: Int, of rounds: Int) -> RequestFile {
        let authorized = numbers(3, round: round, of: rounds).filter {
            fleet[$0].settings.authorizationStatus == .authorized
        }
        return RequestFile(authorized, .cyclic) { [fleet, writer] number, _ in writer.post(to: fleet[number]) }
    }

    /// The installations of unchanged registrations, which stay unchanged.
    private func topics(round: Int, of rounds: Int) -> RequestFile {
        RequestFile(numbers(0, round: round, of: rounds), variants: 2, .cyclic) { [fleet, writer] number, variant in
            writer.topics(of: fleet[number], Self.topic, variant == 0)
        }
    }

    /// Takeovers by installations that no other row uses.
    private func takeovers(round: Int, of rounds: Int) -> RequestFile {
        RequestFile(numbers(step / 2 + 1, round: round, of: rounds), .once) { [fleet, writer] number, _ in
            writer.takeover(of: fleet[number], by: fleet[Self.newcomers + number])
        }
    }

    /// The same installations under another user, as when another person signs in on a phone.
    private func ownerChanges(round: Int, of rounds: Int) -> RequestFile {
        RequestFile(numbers(2, round: round, of: rounds), .once) { [fleet, writer] number, _ in
            try writer.ownerChange(of: fleet[number], to: "next-\(number)")
        }
    }

    /// Calls with one token of each of these installations.
    private func feedback(round: Int, of rounds: Int) -> RequestFile {
        let numbers = numbers(step - 1, round: round, of: rounds)
        let starts = stride(from: 0, to: numbers.count, by: Self.feedbackItems)
        return RequestFile(starts, .once) { [fleet, writer] start, _ in
            writer.feedback(about: numbers[start...].prefix(Self.feedbackItems).map { fleet[$0] })
        }
    }

    /// Installations that no earlier round used.
    private func first(round: Int, seconds: Int) -> RequestFile {
        let count = seconds * Self.firstPerSecondMax
        let start = fleet.count + round * count
        return RequestFile(start..<start + count, .once) { [fleet, writer] number, _ in writer.request(fleet[number]) }
    }
}
