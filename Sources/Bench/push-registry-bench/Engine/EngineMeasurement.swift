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
