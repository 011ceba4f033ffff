/// The responses during a measurement.
struct LoadTally: Sendable {
    /// Longer latencies count as this one.
    private static let microsecondsMax = 2_000_000

    private(set) var count = 0
    private(set) var failures = 0
    private(set) var outcomes = [Int](repeating: 0, count: ResponseScanner.Outcome.allCases.count)
    /// The number of responses with each latency in microseconds.
    private var latencies = [UInt32](repeating: 0, count: Self.microsecondsMax + 1)

    mutating func add(_ response: ResponseScanner.Response, microseconds: Int) {
        count += 1
        if !(200...299).contains(response.status) { failures += 1 }
        outcomes[response.outcome.rawValue] += 1
        latencies[min(microseconds, Self.microsecondsMax)] += 1
    }

    mutating func addFailure() {
        failures += 1
    }

    /// The latency that this share of the responses did not exceed, in milliseconds.
    func percentile(_ share: Double) -> Double {
        var left = Int((Double(count) * share).rounded(.up))
        for (microseconds, responses) in latencies.enumerated() {
            left -= Int(responses)
            if left <= 0 { return Double(microseconds) / 1_000 }
        }
        return 0
    }
}
