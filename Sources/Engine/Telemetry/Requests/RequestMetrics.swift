import Basics
public import HTTPApplication
import HTTPTypes
import HTTPWire

/// Counts requests by route, method and status, and measures durations by route and method.
///
/// Clients cannot choose labels, so the number of series is limited by the program's routes and responses. A path
/// without a route is `unmatched`, a method that HTTP does not define is `other`, a request without a response has the
/// status `none`. Input that is not a request is counted, but its duration is not recorded.
///
/// Create one for each event loop, so that neither its lock nor its counts are contended: the registry adds them up.
public final class RequestMetrics: RequestObserver {
    private struct Key: Hashable {
        let route: String?
        let method: MethodLabel

        var dimensions: [(String, String)] {
            [("route", route ?? RouteLabel.unmatched), ("method", method.rawValue)]
        }
    }

    /// Nil instead of a series that the registry does not keep.
    private struct Meters {
        let duration: HistogramSeries?
        /// By status. A route has few of them, so a linear search is faster than hashing.
        var counters: [(status: Int?, counter: CounterSeries?)] = []
    }

    private let registry: PrometheusRegistry
    private let meters = Locked<[Key: Meters]>([:])

    /// - Parameter registry: holds the series; all loops pass the same one.
    public init(_ registry: PrometheusRegistry) {
        self.registry = registry
    }

    /// Creates the metrics of a route, method and status when the first such request has finished.
    public func didFinish(_ request: FinishedRequest) {
        let key = Key(route: request.routePattern, method: MethodLabel(request.head?.method))
        let (counter, duration) = meters.withLock { handles(key, request.status?.code, in: &$0) }
        counter?.increment(by: 1)
        if request.head != nil { duration?.recordNanoseconds(request.duration.wholeNanoseconds) }
    }

    private func handles(
        _ key: Key, _ status: Int?, in meters: inout [Key: Meters]
    ) -> (CounterSeries?, HistogramSeries?) {
        var known = meters[key] ?? makeMeters(key)
        for entry in known.counters where entry.status == status { return (entry.counter, known.duration) }
        let counter = makeCounter(key, status)
        known.counters.append((status, counter))
        meters[key] = known
        return (counter, known.duration)
    }

    private func makeMeters(_ key: Key) -> Meters {
        Meters(duration: registry.timer(Self.durationLabel, key.dimensions)?.makePart())
    }

    private func makeCounter(_ key: Key, _ status: Int?) -> CounterSeries? {
        let dimensions = key.dimensions + [("status", status.map(String.init) ?? "none")]
        return registry.counter(Self.countLabel, dimensions)?.makePart()
    }
}

extension RequestMetrics {
    /// A counter with the labels `route`, `method` and `status`.
    public static let countLabel = "http_requests_total"
    private static let durationLabel = "http_request_duration_seconds"

    /// The descriptions of these metrics.
    public static let descriptions = [
        MetricDescription(
            countLabel, .counter,
            "Requests that are finished, by `route`, `method` and `status` (`none`: the client left). "
                + "Traffic and errors."),
        MetricDescription(
            durationLabel, .histogram,
            "From the end of the request's head to the end of the response, by `route` and `method`. Latency."),
    ]
}

/// The route label of a request without a route.
enum RouteLabel {
    static let unmatched = "unmatched"
}

extension Duration {
    /// Whole nanoseconds, truncated; clamped to three centuries.
    var wholeNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }
}

/// A method as a label. Only methods that HTTP defines have their own, so that clients cannot create series.
enum MethodLabel: String {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
    case connect = "CONNECT"
    case trace = "TRACE"
    /// An unknown method, or no request at all.
    case other

    init(_ method: HTTPRequest.Method?) {
        self =
            switch method {
            case .get: .get
            case .put: .put
            case .post: .post
            case .delete: .delete
            case .patch: .patch
            case .head: .head
            case .options: .options
            case .connect: .connect
            case .trace: .trace
            default: .other
            }
    }
}
