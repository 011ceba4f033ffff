import Basics

/// Something that goes wrong, or a command that runs, beside the calls of a round.
enum Fault: Hashable, Codable, Sendable {
    /// SIGKILL. The next process serves the same port, in whose queue clients wait.
    case killService
    case stopService(milliseconds: Int)
    /// `pg_terminate_backend` on all sessions of the service.
    case endSessions
    case endSession(pick: Int)
    /// SIGSTOP of the server process of one session.
    case stopSession(pick: Int, milliseconds: Int)
    /// A cut connection between the service and PostgreSQL.
    case cutSession(pick: Int)
    /// Bytes of one session arrive late, perhaps after those of younger sessions.
    case stallSession(pick: Int, milliseconds: Int)
    /// SIGKILL, then a start.
    case killPostgres
    /// SIGKILL, then the promotion of the synchronous standby.
    case failOver
    /// Of PostgreSQL's clock, forward or back.
    case stepClock(hours: Int64)
    case rebuildRollUp
    case cleanUp
    /// Adds other installations to the same app.
    case importFile

    /// Whether it is a command, which should succeed.
    var isJob: Bool {
        switch self {
        case .rebuildRollUp, .cleanUp, .importFile: true
        case .killService, .stopService, .endSessions, .endSession, .stopSession, .cutSession, .stallSession,
            .killPostgres, .failOver, .stepClock:
            false
        }
    }

    var isStep: Bool { if case .stepClock = self { true } else { false } }
}

/// A fault with its time after the start of the round.
struct TimedFault: Hashable, Codable, Sendable {
    let milliseconds: Int
    let fault: Fault
}

/// A kind of plan, by its faults.
enum Nemesis: Int, CaseIterable, Codable, Sendable {
    /// No faults, and no concurrent calls either.
    case sequential
    /// No faults.
    case concurrent
    case service
    case sessions
    case network
    case jobs
    case postgres
    case mixed
    case failover
    /// PostgreSQL's clock steps.
    case clock

    /// No sum of steps is the touch interval, or near the lifetime of tombstones.
    private static let clockHours: [Int64] = [2, -2, 31, -31]

    init(seed: UInt64) {
        self = Self.allCases[Int(seed % UInt64(Self.allCases.count))]
    }

    var hasJobs: Bool { self == .jobs || self == .mixed }
    /// Whether clients close connections before the response.
    var hasImpatientClients: Bool { self == .service || self == .network || self == .mixed }

    /// The faults of one round. The standby replaces the primary once.
    func faults(ofRound number: Int, _ random: inout SeededGenerator) -> [TimedFault] {
        if self == .failover {
            let milliseconds = Int.random(in: 0...60, using: &random)
            return number == 2 ? [TimedFault(milliseconds: milliseconds, fault: .failOver)] : []
        }
        let count = self == .clock ? 1 : random.pick([1, 1, 2, 3])
        return (0..<count).compactMap { _ in
            fault(&random).map { TimedFault(milliseconds: Int.random(in: 0...60, using: &random), fault: $0) }
        }
    }

    private func fault(_ random: inout SeededGenerator) -> Fault? {
        let (pick, milliseconds) = (Int.random(in: 0..<1_000, using: &random), random.pick([5, 50, 300]))
        return switch self {
        case .sequential, .concurrent, .failover: nil
        case .clock: .stepClock(hours: random.pick(Self.clockHours))
        case .service: random.pick([.killService, .stopService(milliseconds: milliseconds)])
        case .sessions:
            random.pick([
                .endSessions, .endSession(pick: pick), .stopSession(pick: pick, milliseconds: milliseconds),
            ])
        case .network:
            random.pick([.cutSession(pick: pick), .stallSession(pick: pick, milliseconds: milliseconds)])
        case .jobs: random.pick([.rebuildRollUp, .cleanUp, .importFile])
        case .postgres: .killPostgres
        case .mixed:
            random.pick([Nemesis.service, .service, .sessions, .sessions, .network, .network, .jobs, .postgres])
                .fault(&random)
        }
    }
}

extension SeededGenerator {
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }

    /// True with this probability.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
