// GET /healthz: the process answers.
// GET /readyz: it can do its work.
// GET /metrics: its counters, in Prometheus' text format.

import HTTPServer
import HTTPTypes
import StrictJSON

/// Whether the service can do its work.
public struct ReadinessCheck: Sendable {
    /// What a look found.
    public struct Finding: Sendable {
        /// What keeps the service from serving; empty if nothing does.
        public var obstacles: [String]
        /// What keeps it from a part of its work, such as audiences; it goes on with the rest.
        public var degraded: [String]

        public init(obstacles: [String], degraded: [String] = []) {
            self.obstacles = obstacles
            self.degraded = degraded
        }
    }

    public let look: @Sendable () async -> Finding

    public init(look: @escaping @Sendable () async -> Finding) {
        self.look = look
    }
}

extension RegistryService {
    private static let healthy = ServerResponse(
        .ok, fields: [.contentType: "application/json"], body: .bytes(Array(#"{"status":"ok"}"#.utf8)))

    var health: Route {
        Route(.get, "/healthz") { _ in Self.healthy }
    }

    var ready: Route {
        Route(.get, "/readyz") { _ in
            let finding = await readiness.look()
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("status", finding.obstacles.isEmpty ? "ready" : "unavailable")
                writer.member("obstacles", finding.obstacles)
                writer.member("degraded", finding.degraded)
            }
            return .json(writer, status: finding.obstacles.isEmpty ? .ok : .serviceUnavailable)
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
