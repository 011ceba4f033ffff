/// One run of one side.
struct EngineMeasurement: Codable, Sendable {
    let perSecond: Double
    /// CPU time of the server for each request, or each connection.
    let microseconds: Double
    /// Answers that were not 2xx, and connections that broke.
    var failures = 0

    init(count: Int, seconds: Double, cpuSeconds: Double) {
        perSecond = Double(count) / max(seconds, 0.001)
        microseconds = cpuSeconds / Double(max(count, 1)) * 1_000_000
    }
}

extension [EngineMeasurement] {
    /// The middle of the rounds, of each figure by itself.
    func median(_ figure: KeyPath<EngineMeasurement, Double>) -> Double? {
        isEmpty ? nil : map { $0[keyPath: figure] }.sorted()[count / 2]
    }
}
