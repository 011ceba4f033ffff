import Basics
public import CoreMetrics

/// Stores the process's metrics and renders them for Prometheus: the back end of swift-metrics.
///
/// Handles with the same label and dimensions share their value. Counting takes no lock, but creating a handle and
/// rendering do, so callers should keep the handles that they use often. If `seriesMax` is reached, or if the name
/// belongs to a metric of another kind, the new handle counts nothing and `metrics_series_dropped_total` grows.
///
/// A counter's name gets the suffix `_total` if it lacks it; in other names only characters that Prometheus refuses
/// become underscores. A `Timer` is a histogram in seconds, so its label should end with `_seconds`. A `Recorder` that
/// aggregates is a histogram; one that does not (a `Gauge`) is a gauge.
public final class PrometheusRegistry: Sendable {
    private let configuration: PrometheusConfiguration
    private let table: Locked<SeriesTable>
    private let dropped = CounterSeries()

    /// Pass it to `MetricsSystem.bootstrap`, or as the factory of single metrics.
    public init(_ configuration: PrometheusConfiguration = PrometheusConfiguration()) {
        self.configuration = configuration
        let ownNames = Self.ownDescriptions.map(\.name)
        table = Locked(SeriesTable(seriesMax: configuration.seriesMax, reservedNames: ownNames))
    }

    /// The metrics that every registry has.
    public static let ownDescriptions = [droppedDescription] + ProcessMetrics.descriptions

    private static let droppedDescription = MetricDescription(
        "metrics_series_dropped_total", .counter,
        "Metrics that were not kept: too many, or one name with two kinds.")

    /// All metrics in the text exposition format 0.0.4, sorted by name and then by labels, including the process's
    /// current resource usage. It reads a few files of `/proc`, which does not access the disk.
    public func render() -> [UInt8] {
        let families = table.withLock { Array($0.families.values) } + [droppedFamily] + ProcessMetrics.families()
        var text = ExpositionText()
        let named = families.map { (name: configuration.fullName(of: $0.name), family: $0) }
        for (name, family) in named.sorted(by: { $0.name < $1.name }) {
            family.write(as: name, to: &text)
        }
        return text.bytes
    }

    /// The whole counts of the series of a counter, each with the text of its labels.
    func counters(of name: String) -> [(labels: String, count: Int64)] {
        let family = table.withLock { $0.families[name] }
        return family?.series.compactMap { labels, series in
            (series as? CounterSeries).map { (labels, $0.count) }
        } ?? []
    }

    private var droppedFamily: MetricFamily {
        MetricFamily(Self.droppedDescription, dropped)
    }
}

// MARK: - Creating

extension PrometheusRegistry: MetricsFactory {
    /// Sums whole amounts above 0; ignores others.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counter(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    /// A histogram with the bounds `recorderBuckets` if `aggregate`, else a gauge.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        let recorder: (any RecorderHandler)? =
            aggregate
            ? histogram(label, dimensions, bounds: configuration.recorderBuckets) : gauge(label, dimensions)
        return recorder ?? NOOPMetricsHandler.instance
    }

    /// A histogram in seconds, with the bounds `timerBuckets`.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        timer(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    func timer(_ label: String, _ dimensions: [(String, String)]) -> HistogramSeries? {
        histogram(label, dimensions, bounds: configuration.timerBuckets)
    }

    func counter(_ label: String, _ dimensions: [(String, String)]) -> CounterSeries? {
        series(.counter, PrometheusName.counter(label), dimensions) { CounterSeries() }
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeSeries? {
        series(.gauge, PrometheusName.metric(label), dimensions) { GaugeSeries() }
    }

    private func histogram(
        _ label: String, _ dimensions: [(String, String)], bounds: [Double]
    ) -> HistogramSeries? {
        series(.histogram, PrometheusName.metric(label), dimensions) { HistogramSeries(bounds: bounds) }
    }

    private func series<NewSeries: Series>(
        _ kind: MetricKind, _ name: String, _ dimensions: [(String, String)], make: () -> NewSeries
    ) -> NewSeries? {
        let family = MetricFamily(name: name, kind: kind, help: configuration.descriptions[name]?.help)
        let labels = ExpositionText.labels(dimensions)
        let series = table.withLock { $0.series(family, labels: labels, make: make) }
        if series == nil { dropped.increment(by: 1) }
        return series
    }
}

/// A series stays for the life of the process.
extension PrometheusRegistry {
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}
}

extension PrometheusRegistry {
    /// The sums of a counter's whole amounts by the value of one of its labels.
    ///
    /// - Parameters:
    ///   - name: as it is rendered, with the suffix `_total`, but without the prefix.
    ///   - label: series without it are left out. Its values must not contain a comma.
    ///   - dimensions: only series with all of these are summed. Their values must not contain a comma.
    public func sums(of name: String, by label: String, where dimensions: [(String, String)] = []) -> [String: Int64] {
        let wanted = dimensions.map { ExpositionText.labels([$0]) }
        return counters(of: name).reduce(into: [:]) { sums, series in
            let labels = series.labels.split(separator: ",")
            guard wanted.allSatisfy({ one in labels.contains { $0 == one } }),
                let found = labels.first(where: { $0.hasPrefix("\(label)=\"") })
            else { return }
            sums[String(found.dropFirst(label.count + 2).dropLast()), default: 0] += series.count
        }
    }
}

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
