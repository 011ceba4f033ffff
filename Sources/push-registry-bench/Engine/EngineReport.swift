import Foundation

/// What the engine benchmark measured.
struct EngineReport: Codable, Sendable {
    enum Load: String, Codable, CodingKeyRepresentable, Sendable {
        case get, post, connection
    }

    let options: RunOptions
    /// How long each run lasted.
    let seconds: Int
    /// What else the machine did in the minute before (getloadavg(3)).
    let loadAverage: Double
    /// Resident, with the idle connections.
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

/// One line of the table: a figure of the engine, the one beside it, and what was to be reached.
struct EngineFigure {
    /// What a figure is held to.
    enum Target {
        case none
        case ratioMax(Double)
        case ratioMin(Double)
        case valueMax(Double)
    }

    let title: String
    let value: Double?
    let otherName: String
    let other: Double?
    var target = Target.none

    var ratio: Double? {
        guard let value, let other, other > 0 else { return nil }
        return value / other
    }

    var targetText: String {
        switch target {
        case .none: ""
        case .ratioMax(let limit): "≤ \(limit.formatted())"
        case .ratioMin(let limit): "≥ \(limit.formatted())"
        case .valueMax(let limit): "≤ \(limit.formatted()) MB"
        }
    }

    /// Nil where there is no target, or nothing to hold to it.
    var isReached: Bool? {
        switch target {
        case .none: nil
        case .ratioMax(let limit): ratio.map { $0 <= limit }
        case .ratioMin(let limit): ratio.map { $0 >= limit }
        case .valueMax(let limit): value.map { $0 <= limit }
        }
    }
}
