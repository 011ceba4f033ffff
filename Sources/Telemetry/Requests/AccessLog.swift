public import HTTPServer
import HTTPTypes
import HTTPWire
public import Logging
import Synchronization

/// One line for each request that is over, at info.
///
/// It names the route's pattern and never the path, the query or a field: identifiers and tokens stay out of the log.
/// Nor does it name the client's address, which is personal data.
///
/// A service with much traffic may log every nth success only. What was refused, failed, had no answer, or whose client
/// went away is logged always.
public final class AccessLog: RequestObserver {
    private let logger: Logger
    private let successInterval: Int
    private let successes = Atomic<Int>(0)

    /// - Parameter successInterval: of so many requests answered in full with a status below 400, one is logged.
    public init(logger: Logger, successInterval: Int = 1) {
        precondition(successInterval > 0, "the interval of logged successes is at least 1")
        self.logger = logger
        self.successInterval = successInterval
    }

    public func didFinish(_ request: FinishedRequest) {
        guard logger.logLevel <= .info, isSampled(request) else { return }
        logger.info("request", metadata: Self.metadata(request))
    }

    private func isSampled(_ request: FinishedRequest) -> Bool {
        guard successInterval > 1, request.isSuccess else { return true }
        let number = successes.wrappingAdd(1, ordering: .relaxed).oldValue
        return number % successInterval == 0
    }

    /// Who asked (a key's ID, never the key) belongs here too; a `FinishedRequest` does not know it, as authentication
    /// is the handlers'.
    private static func metadata(_ request: FinishedRequest) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "route": .string(request.routePattern ?? RouteLabel.unmatched),
            "requestId": .stringConvertible(request.requestID),
            "durationMs": .stringConvertible(request.duration.milliseconds),
            "requestBytes": .stringConvertible(request.requestBodyBytes),
            "responseBytes": .stringConvertible(request.responseBodyBytes),
        ]
        if let status = request.status { metadata["status"] = .stringConvertible(status.code) }
        if let head = request.head {
            metadata["method"] = .string(head.method.rawValue)
            metadata["traceId"] = TraceParent(head).map { .string($0.traceID) }
        }
        if !request.isComplete { metadata["completed"] = .stringConvertible(false) }
        return metadata
    }
}

extension FinishedRequest {
    fileprivate var isSuccess: Bool {
        isComplete && (status.map { $0.code < 400 } ?? false)
    }
}

extension Duration {
    /// Milliseconds, to the microsecond.
    fileprivate var milliseconds: Double {
        Double(wholeNanoseconds / 1_000) / 1_000
    }
}
