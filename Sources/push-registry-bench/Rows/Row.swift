import ArgumentParser

/// What is measured.
enum Row: String, CaseIterable, ExpressibleByArgument, Codable, CodingKeyRepresentable, Sendable {
    case unchanged, changed, first, healthz, start, idle, engine

    var title: String {
        switch self {
        case .unchanged: "unchanged registration"
        case .changed: "changed registration (new settings)"
        case .first: "first registration"
        case .healthz: "GET /healthz"
        case .start: "start until ready"
        case .idle: "memory, idle connections"
        case .engine: "the HTTP engine alone"
        }
    }

    /// How often as many requests a second as pgbench's the service is to carry.
    var ratioMin: Double? {
        switch self {
        case .unchanged: 4
        case .changed: 2
        case .first: 1.5
        case .healthz, .start, .idle, .engine: nil
        }
    }
}
