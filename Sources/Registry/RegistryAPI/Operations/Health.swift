// GET /healthz: the process is up.
// GET /readyz: the service can do its work.
// GET /metrics: metrics in the Prometheus text format.

import EventLoop
import HTTPApplication
import HTTPTypes
import StrictJSON

/// Whether the service can do its work.
public struct ReadinessCheck: Sendable {
    /// The result of a check.
    public struct Finding: Sendable {
        /// The reasons why the service is not ready; empty if it is.
        public var obstacles: [String]
        /// The functions that do not work, such as audiences, although the service is ready.
        public var degraded: [String]

        public init(obstacles: [String], degraded: [String] = []) {
            (self.obstacles, self.degraded) = (obstacles, degraded)
        }
    }

    public let check: @Sendable () async -> Finding

    public init(check: @escaping @Sendable () async -> Finding) {
        self.check = check
    }
}

extension RegistryService {
    private static let healthy = ServerResponse(
        .ok, fields: [.contentType: "application/json", .xContentTypeOptions: "nosniff"],
        body: .bytes(Array(#"{"status":"ok"}"#.utf8)))

    var health: Route {
        Route(.get, "/healthz", constant: Self.healthy)
    }

    var ready: Route {
        Route(.get, "/readyz") { _ in
            let finding = await readiness.check()
            return .json(JSONWriter(finding), status: finding.obstacles.isEmpty ? .ok : .serviceUnavailable)
        }
    }

    var metricsText: Route {
        Route(.get, "/metrics") { _ in
            let text = await offLoop { [metrics] in metrics() }
            return ServerResponse(
                .ok, fields: [.contentType: "text/plain; version=0.0.4; charset=utf-8"], body: .bytes(text))
        }
    }
}

extension JSONWriter {
    /// `{status, obstacles, degraded}`.
    init(_ finding: ReadinessCheck.Finding) {
        self.init { writer in
            writer.member("status", finding.obstacles.isEmpty ? "ready" : "unavailable")
            writer.member("obstacles", finding.obstacles)
            writer.member("degraded", finding.degraded)
        }
    }
}
