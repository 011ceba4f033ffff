import Foundation

/// The results of the engine benchmark.
struct EngineReport: Codable, Sendable {
    enum Load: String, Codable, CodingKeyRepresentable, Sendable {
        case get, post, connection
    }

    let options: RunOptions
    /// How long each run lasted.
    let seconds: Int
    /// The load average of the minute before (getloadavg(3)).
    let loadAverage: Double
    /// Resident memory, with the idle connections.
    var megabytes: [EngineSide: Double] = [:]
    private(set) var runs: [Load: [EngineSide: [EngineMeasurement]]] = [:]

    init(options: RunOptions, seconds: Int) {
        (self.options, self.seconds) = (options, seconds)
        var averages = [0.0]
        getloadavg(&averages, 1)
        loadAverage = averages[0]
    }

    mutating func add(_ run: EngineMeasurement, to load: Load, _ side: EngineSide) {
        runs[load, default: [:]][side, default: []].append(run)
    }

    func median(_ figure: KeyPath<EngineMeasurement, Double>, _ load: Load, _ side: EngineSide) -> Double? {
        runs[load]?[side]?.median(figure)
    }

    var failures: Int {
        runs.values.flatMap(\.values).joined().reduce(0) { $0 + $1.failures }
    }
}
