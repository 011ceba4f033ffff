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

    private typealias Part = (fleet: Fleet, writer: RegistrationWriter)

    private let parts: [Part]
    private let count: Int
    private let seconds: Int
    fileprivate let unchanged: RequestFile
    fileprivate let changed: RequestFile

    static func names(_ apps: Int) -> [String] { (1...apps).map { "com.example.bench-\(apps)-\($0)" } }

    init(_ apps: Int, _ options: CitusOptions, makeKey: (AppID) async throws -> String) async throws {
        let count = options.count / apps
        var parts: [Part] = []
        for name in Self.names(apps) {
            let app = App(number: AppNumber(1), id: try AppID(name), policy: .standard)
            let fleet = Fleet(
                seed: options.seed, app: app, count: count, asOf: .now, lastSeen: .withinSeconds(0),
                links: try TimeZoneLinks())
            parts.append((fleet, RegistrationWriter(app: app.id, key: try await makeKey(app.id))))
        }
        (self.parts, self.count, seconds) = (parts, count, options.seconds)
        // The first half stays unchanged.
        unchanged = Self.requests(parts, 0..<count / 2, .cyclic) { installation, writer, _ in
            writer.request(installation)
        }
        changed = Self.requests(parts, count / 2..<count, variants: 2, .cyclic) { installation, writer, variant in
            writer.request(installation, settings: installation.settings.toggled(1 + variant))
        }
    }

    fileprivate var all: RequestFile { registrations(0..<count) }

    /// Installations that no earlier round used.
    fileprivate func first(round: Int) -> RequestFile {
        let new = (seconds + 1) * Self.firstPerSecondMax / parts.count
        let start = count + round * new
        return registrations(start..<start + new)
    }

    private func registrations(_ numbers: Range<Int>) -> RequestFile {
        Self.requests(parts, numbers, .once) { installation, writer, _ in writer.request(installation) }
    }

    private static func requests(
        _ parts: [Part], _ numbers: Range<Int>, variants: Int = 1, _ order: RequestFile.Order,
        _ makeRequest: @escaping @Sendable (FleetInstallation, RegistrationWriter, _ variant: Int) -> [UInt8]
    ) -> RequestFile {
        let range = numbers.lowerBound * parts.count..<numbers.upperBound * parts.count
        return RequestFile(range, variants: variants, order) { index, variant in
            let part = parts[index % parts.count]
            return makeRequest(part.fleet[index / parts.count], part.writer, variant)
        }
    }
}

/// A service, its nodes of PostgreSQL and its requests.
struct CitusSide: Sendable {
    private static let warmUp = Duration.milliseconds(500)
    /// Long enough for a fleet to register on a slow machine.
    private static let fillSecondsMax = 600

    let name: String
    let server: ServerProcess
    /// Of each node.
    let postmasters: [ProcessUsage]
    let fleets: [CitusFleets]
    let options: CitusOptions

    private var wrk: Wrk { Wrk(port: server.port, connections: options.connections) }

    /// Registers the fleets.
    func fill() async throws {
        for fleets in fleets {
            let all = fleets.all
            let result = try await wrk.run(all, expecting: .created, seconds: Self.fillSecondsMax)
            guard result.expected == all.count, result.failures == 0 else {
                throw BenchmarkFailure("\(name): \(all.count - result.expected) of \(all.count) could not register")
            }
        }
    }

    func measure(_ row: CitusRow, _ index: Int, round: Int) async throws -> Measurement {
        let (requests, expected): (RequestFile, Wrk.Expectation) =
            switch row {
            case .unchanged: (fleets[index].unchanged, .unchanged)
            case .changed: (fleets[index].changed, .updated)
            case .first: (fleets[index].first(round: round), .created)
            }
        return try await wrk.measure(
            requests, expecting: expected, warmUp: Self.warmUp, seconds: options.seconds, before: cpuReading,
            after: cpuReading)
    }

    private func cpuReading() throws -> CPUReading {
        CPUReading(
            service: try server.usage.cpuSeconds(),
            postgres: try postmasters.reduce(0) { try $0 + $1.cpuSecondsWithChildren() })
    }
}
