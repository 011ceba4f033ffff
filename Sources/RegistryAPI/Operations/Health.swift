// GET /healthz: the process answers.
// GET /readyz: it can do its work.
// GET /metrics: its counters, in Prometheus' text format.

import HTTPServer
import HTTPTypes
import StrictJSON

/// Whether the service can do its work.
public struct ReadinessCheck: Sendable {
    /// What stands in the way, empty if nothing does.
    public let obstacles: @Sendable () async -> [String]

    public init(obstacles: @escaping @Sendable () async -> [String]) {
        self.obstacles = obstacles
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
            let obstacles = await readiness.obstacles()
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("status", obstacles.isEmpty ? "ready" : "unavailable")
                writer.member("obstacles", obstacles)
            }
            return .json(writer, status: obstacles.isEmpty ? .ok : .serviceUnavailable)
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
