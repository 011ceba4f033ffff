import EventLoop
import FleetGenerator
import Foundation
import PushRegistry

/// The rows of the comparison.
enum CitusRow: String, CaseIterable, Codable, Sendable {
    case unchanged, changed, first
}

/// A fleet that some apps share, and its requests: those of the apps alternate.
struct CitusFleets: Sendable {
    /// More first registrations than a service can handle in a second.
    private static let firstPerSecondMax = 10_000

    private let parts: [(fleet: Fleet, writer: RegistrationWriter)]
    private let count: Int
    private let seconds: Int
    fileprivate let unchanged: RequestSequence
    fileprivate let changed: RequestSequence

    static func names(_ apps: Int) -> [String] { (1...apps).map { "com.example.bench-\(apps)-\($0)" } }

    init(_ apps: Int, _ options: CitusOptions, makeKey: (AppID) throws -> String) throws {
        let count = options.count / apps
        let parts = try Self.names(apps).map { name in
            let app = App(number: AppNumber(1), id: try AppID(name), policy: .standard)
            let fleet = Fleet(
                seed: options.seed, app: app, count: count, asOf: .now, lastSeen: .withinSeconds(0),
                links: try TimeZoneLinks())
            return (fleet, RegistrationWriter(app: app.id, key: try makeKey(app.id)))
        }
        (self.parts, self.count, seconds) = (parts, count, options.seconds)
        // The first half stays unchanged.
        unchanged = RequestSequence(Self.pool(parts, 0..<count / 2) { [$1.request($0)] }, .random)
        changed = RequestSequence(
            Self.pool(parts, count / 2..<count) { installation, writer in
                [1, 2].map { writer.request(installation, settings: installation.settings.toggled($0)) }
            }, .alternating)
    }

    fileprivate var all: RequestSequence { RequestSequence(Self.pool(parts, 0..<count) { [$1.request($0)] }, .once) }

    /// Installations that no earlier round used.
    fileprivate func first(round: Int) -> RequestSequence {
        let new = (seconds + 1) * Self.firstPerSecondMax / parts.count
        let start = count + round * new
        return RequestSequence(Self.pool(parts, start..<start + new) { [$1.request($0)] }, .once)
    }

    private static func pool(
        _ parts: [(fleet: Fleet, writer: RegistrationWriter)], _ numbers: Range<Int>,
        _ requests: (FleetInstallation, RegistrationWriter) -> [[UInt8]]
    ) -> RequestPool {
        RequestPool(
            numbers.flatMap { number in parts.flatMap { fleet, writer in requests(fleet[number], writer) } })
    }
}

/// A service, its nodes of PostgreSQL and its requests.
struct CitusSide: Sendable {
    private static let warmUp = Duration.milliseconds(500)
    /// Long enough for a fleet to register on a slow machine.
    private static let fillDeadline = Duration.seconds(600)

    let name: String
    let server: ServerProcess
    /// Of each node.
    let postmasters: [ProcessUsage]
    let fleets: [CitusFleets]
    let options: CitusOptions

    /// Registers the fleets.
    func fill() async throws {
        for fleets in fleets {
            let all = fleets.all
            let loop = EventLoop(name: "load")
            defer { loop.stop() }
            let tally = try await HTTPLoad(all, on: loop).runAll(
                port: server.port, connections: options.connections, atMost: Self.fillDeadline
            ).tally
            let missing = all.pool.count - tally.count + tally.failures
            guard missing == 0 else {
                throw BenchmarkFailure("\(name): \(missing) of \(all.pool.count) could not register")
            }
        }
    }

    func measure(_ row: CitusRow, _ index: Int, round: Int) async throws -> Measurement {
        let (sequence, expected): (RequestSequence, ResponseScanner.Outcome) =
            switch row {
            case .unchanged: (fleets[index].unchanged, .unchanged)
            case .changed: (fleets[index].changed, .updated)
            case .first: (fleets[index].first(round: round), .created)
            }
        let (result, cpu) = try await load(sequence, warmUp: Self.warmUp, measured: .seconds(options.seconds))
        return Measurement(result, cpu, expected: expected)
    }

    private func load(
        _ sequence: RequestSequence, warmUp: Duration, measured: Duration
    ) async throws -> (HTTPLoad.Result, CPUReading) {
        let loop = EventLoop(name: "load")
        defer { loop.stop() }
        let outcome = try await HTTPLoad(sequence, on: loop).run(
            port: server.port, connections: options.connections, warmUp: warmUp, measured: measured
        ) {
            CPUReading(
                service: try server.usage.cpuSeconds(),
                postgres: try postmasters.reduce(0) { try $0 + $1.cpuSecondsWithChildren() })
        }
        return (outcome.result, outcome.after - outcome.before)
    }
}
