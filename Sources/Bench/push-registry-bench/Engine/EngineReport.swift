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

/// One run of one side.
struct EngineMeasurement: Codable, Sendable {
    let perSecond: Double
    /// CPU time of the server for each request, or each connection.
    let microseconds: Double
    /// Responses that were not 2xx, and broken connections.
    var failures = 0

    init(count: Int, seconds: Double, cpuSeconds: Double) {
        perSecond = Double(count) / max(seconds, 0.001)
        microseconds = cpuSeconds / Double(max(count, 1)) * 1_000_000
    }
}

extension [EngineMeasurement] {
    /// The median of each figure over the rounds.
    func median(_ figure: KeyPath<EngineMeasurement, Double>) -> Double? {
        isEmpty ? nil : map { $0[keyPath: figure] }.sorted()[count / 2]
    }
}
