import Foundation
import Telemetry
import Testing

@testable import push_registry

@Suite("Every metric is described once")
struct MetricDescriptionsTests {
    private static let catalogue = URL(filePath: #filePath)
        .appending(path: "../../../Sources/Command/push-registry/Documentation.docc").standardized

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.catalogue.appending(path: path), encoding: .utf8)
    }

    /// As Prometheus sees them.
    private static let metrics = MetricDescriptions.all.map {
        MetricDescription(MetricDescriptions.configuration.fullName(of: $0.name), $0.kind, $0.help)
    }

    @Test func page_hasTheTable() throws {
        let lines = try text("Monitoring.md").split(separator: "\n", omittingEmptySubsequences: false)
        let head = try #require(lines.firstIndex { $0.hasPrefix("| metric | kind |") })
        let rows = lines[(head + 2)...].prefix { $0.hasPrefix("|") }.map(String.init)
        #expect(rows == Self.metrics.map { "| `\($0.name)` | \($0.kind.rawValue) | \($0.help) |" })
    }

    /// Otherwise a panel or an alert could use a metric that does not exist.
    @Test(arguments: ["grafana-dashboard.json", "prometheus-alerts.yaml"])
    func resources_nameOnlyMetricsOfTheTable(resource: String) throws {
        let known = Self.metrics.flatMap { metric in
            metric.kind == .histogram ? ["bucket", "sum", "count"].map { metric.name + "_" + $0 } : [metric.name]
        }
        let names = try names(in: resource)
        #expect(names.count > 8)
        #expect(names.subtracting(known) == [])
    }

    /// Without the prefix.
    @Test func picture_namesOnlyMetricsOfTheTable() throws {
        let names = Set(try text("Resources/metrics.svg").matches(of: /class="name">([a-z_]+)/).map { String($0.1) })
        #expect(names.count > 8)
        #expect(names.subtracting(MetricDescriptions.all.map(\.name)) == [])
    }

    private func names(in resource: String) throws -> Set<String> {
        let named = /\b(?:push_registry|process)_[a-z_]+/
        return Set(try text("Resources/\(resource)").matches(of: named).map { String($0.output) })
    }
}
