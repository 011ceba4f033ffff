// GET /console/v1/health
// GET /console/v1/rates

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

/// What a process of the service did since its start. The page reads it again and again, and shows the differences.
public struct ProcessCounts: Sendable {
    /// Identifies the process. Behind a load balancer, the next call may reach another one, with other counts.
    public let process: String
    public let startedAt: Timestamp
    /// By class of status: `2xx`, `4xx`; `none` if the client went away.
    public let requests: [String: Int64]
    /// Registrations by result: `created`, `accepted` (updated or unchanged), `refused`, `failed`.
    public let registrations: [String: Int64]

    public init(process: String, startedAt: Timestamp, requests: [String: Int64], registrations: [String: Int64]) {
        (self.process, self.startedAt, self.requests) = (process, startedAt, requests)
        self.registrations = registrations
    }
}

extension RegistryService {
    /// The pattern of registrations, for their counts.
    public static let registrationPattern = installationPattern

    /// The content of `/readyz`. The status is always 200: the page shows what hinders the service.
    var consoleHealth: Route {
        Route(.get, Self.consolePattern + "/v1/health") { request in
            try await checkOperator(request)
            return .json(JSONWriter(await readiness.check()))
        }
    }

    var consoleRates: Route {
        Route(.get, Self.consolePattern + "/v1/rates") { request in
            try await checkOperator(request)
            let counts = console.rates()
            return .json { writer in
                writer.member("at", console.now().description)
                writer.member("process", counts.process)
                writer.member("startedAt", counts.startedAt.description)
                writer.name("requests")
                writer.counts(counts.requests)
                writer.name("registrations")
                writer.counts(counts.registrations)
            }
        }
    }

    /// - Throws: `APIError.signedOut`; 403 for a caller without the role admin.
    private func checkOperator(_ request: ServerRequest) async throws {
        let (caller, _) = try await acting(for: request) { try await $0.caller(request) }
        try caller.requireAdmin()
    }
}

extension JSONWriter {
    /// In the order of their names.
    fileprivate mutating func counts(_ counts: [String: Int64]) {
        object { writer in
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
                writer.name(name)
                writer.integer(count)
            }
        }
    }
}
