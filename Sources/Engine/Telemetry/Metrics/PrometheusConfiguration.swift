/// The limits of a registry, and the descriptions of its metrics.
public struct PrometheusConfiguration: Sendable {
    /// The most series kept. A series is a name with one set of labels; a histogram is one series of about sixteen
    /// lines. The limit bounds the memory that a label with unlimited values can use.
    public var seriesMax = 10_000

    /// Upper bounds of a timer's buckets in seconds, inclusive, ascending and finite: 0.5 ms to 10 s.
    public var timerBuckets: [Double] = [
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    /// Upper bounds of a recorder's buckets, in the recorder's unit.
    public var recorderBuckets: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

    /// Of the names that Prometheus sees, but those of the process, which all Prometheus clients share.
    public var prefix = ""

    /// By the name without the prefix.
    let descriptions: [String: MetricDescription]

    /// All limits have their defaults.
    public init(descriptions: [MetricDescription] = RequestMetrics.descriptions) {
        self.descriptions = Dictionary(uniqueKeysWithValues: descriptions.map { ($0.name, $0) })
    }

    /// The name that Prometheus sees.
    public func fullName(of name: String) -> String { name.hasPrefix("process_") ? name : prefix + name }
}

/// The kind of a metric in Prometheus.
public enum MetricKind: String, Sendable {
    /// It only grows.
    case counter
    /// It goes up and down.
    case gauge
    /// Values by size.
    case histogram
}

/// What Prometheus and people read about a metric.
public struct MetricDescription: Sendable {
    /// The name without the prefix, such as `http_requests_total`.
    public let name: String
    public let kind: MetricKind
    /// One line of text (`# HELP`).
    public let help: String

    /// - Parameter help: one line.
    public init(_ name: String, _ kind: MetricKind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}
