/// The limits of a registry, and the descriptions of its metrics.
public struct PrometheusConfiguration: Sendable {
    /// The most series kept. A series is a name with one set of labels; a histogram is one series of about sixteen
    /// lines. The limit bounds the memory that a label with unlimited values can use.
    public var seriesMax = 10_000

    /// Upper bounds of a timer's buckets, in seconds.
    public var timerBuckets = Self.latencyBuckets

    /// Upper bounds of a recorder's buckets, in the recorder's unit.
    public var recorderBuckets: [Double] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000,
    ]

    /// Help texts and buckets, by the prefix of a metric's label.
    public var descriptions: [MetricDescription]

    /// 0.5 ms to 10 s.
    public static let latencyBuckets: [Double] = [
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    /// All limits have their defaults.
    public init(descriptions: [MetricDescription] = RequestMetrics.descriptions) {
        self.descriptions = descriptions
    }
}

/// The help text and buckets of all metrics whose label starts with `prefix`. If several match, the longest prefix with
/// a help text gives the help, and the longest with buckets gives the buckets.
public struct MetricDescription: Sendable {
    /// Of the label as the program wrote it, before it becomes a Prometheus name.
    public let prefix: String
    /// One line of text (`# HELP`). Nil leaves it to a shorter prefix.
    public let help: String?
    /// Upper bounds, inclusive, ascending and finite; seconds for a timer. Nil leaves them to a shorter prefix or the
    /// defaults.
    public let buckets: [Double]?

    /// Traps if the bounds of `buckets` are not finite and ascending. `+Inf` is added.
    public init(prefix: String, help: String? = nil, buckets: [Double]? = nil) {
        let bounds = buckets ?? []
        precondition(bounds.allSatisfy(\.isFinite), "bucket bounds must be finite: \(prefix)")
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bucket bounds must ascend: \(prefix)")
        self.prefix = prefix
        self.help = help
        self.buckets = buckets
    }
}

extension PrometheusConfiguration {
    func help(for label: String) -> String? {
        longest(for: label) { $0.help }
    }

    func buckets(for label: String) -> [Double]? {
        longest(for: label) { $0.buckets }
    }

    private func longest<Value>(for label: String, _ value: (MetricDescription) -> Value?) -> Value? {
        descriptions
            .filter { label.hasPrefix($0.prefix) && value($0) != nil }
            .max { $0.prefix.utf8.count < $1.prefix.utf8.count }
            .flatMap(value)
    }
}
