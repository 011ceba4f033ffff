public import CoreMetrics
import Foundation
public import HTTPServer
import HTTPTypes
import HTTPWire

/// Counts requests by route, method and status, and times them by route and method.
///
/// No label is the client's to choose, so there are as many series as the program has routes and answers: a path
/// without a route is `unmatched`, a method that HTTP does not define is `other`, a request without an answer has the
/// status `none`. What was no request is counted and not timed.
///
/// Make one for each event loop: its lock is then never contended. Series are shared through the factory.
///
/// `NSLock` rather than `Synchronization.Mutex`: Thread Sanitizer knows a pthread mutex.
public final class RequestMetrics: RequestObserver, @unchecked Sendable {
    private struct Key: Hashable {
        let route: String?
        let method: MethodLabel

        var dimensions: [(String, String)] {
            [("route", route ?? RouteLabel.unmatched), ("method", method.rawValue)]
        }
    }

    private struct Meters {
        let duration: CoreMetrics.Timer
        /// By status. A route has few of them: walking them is quicker than hashing.
        var counters: [(status: Int?, counter: Counter)] = []
    }

    private let factory: any MetricsFactory
    private let lock = NSLock()
    private var meters: [Key: Meters] = [:]

    public init(factory: any MetricsFactory) {
        self.factory = factory
    }

    public func didFinish(_ request: FinishedRequest) {
        let key = Key(route: request.routePattern, method: MethodLabel(request.head?.method))
        let (counter, duration) = lock.withLock { handles(key, request.status?.code) }
        counter.increment()
        if request.head != nil { duration.recordNanoseconds(request.duration.wholeNanoseconds) }
    }

    private func handles(_ key: Key, _ status: Int?) -> (Counter, CoreMetrics.Timer) {
        guard let known = meters[key] else { return add(status, to: makeMeters(key), key) }
        for entry in known.counters where entry.status == status { return (entry.counter, known.duration) }
        return add(status, to: known, key)
    }

    private func makeMeters(_ key: Key) -> Meters {
        let label = Self.durationLabel
        return Meters(duration: CoreMetrics.Timer(label: label, dimensions: key.dimensions, factory: factory))
    }

    private func add(_ status: Int?, to known: Meters, _ key: Key) -> (Counter, CoreMetrics.Timer) {
        let dimensions = key.dimensions + [("status", status.map(String.init) ?? "none")]
        let counter = Counter(label: Self.countLabel, dimensions: dimensions, factory: factory)
        var extended = known
        extended.counters.append((status, counter))
        meters[key] = extended
        return (counter, known.duration)
    }
}

extension RequestMetrics {
    private static let countLabel = "http_requests_total"
    private static let durationLabel = "http_request_duration_seconds"

    /// What the exposition says about these metrics.
    public static let descriptions = [
        MetricDescription(prefix: countLabel, help: "Requests that are over, by route, method and status."),
        MetricDescription(
            prefix: durationLabel, help: "Time from the end of a request's head to the end of its answer.",
            buckets: PrometheusConfiguration.latencyBuckets),
    ]
}

/// What stands for the route of a request that has none.
enum RouteLabel {
    static let unmatched = "unmatched"
}

extension Duration {
    /// Nanoseconds, cut off to whole ones; three centuries at most.
    var wholeNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }
}
