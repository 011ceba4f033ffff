import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Metrics show what an operator needs to know")
struct MetricsTests {
    @Test func everyMetric_hasAHelpTextAndARowInThePage_whenTheServiceHasWorked() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            _ = try await app.put("phone", as: "alice")
            _ = try await app.send("POST", "/audience/count", ["filter": [:]], by: .role(.sender))
            let lines = try await registry.send("GET", "/metrics", key: nil).text.split(separator: "\n")
            let types = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ").suffix(2) }
            let helped = Set(lines.filter { $0.hasPrefix("# HELP ") }.map { $0.split(separator: " ")[2] })
            let text = try documentationPage("Monitoring")
            #expect(types.count > 10)
            #expect(types.filter { !helped.contains($0[2]) } == [])
            #expect(types.filter { !text.contains("| `\($0[2])` | \($0[3]) |") } == [])
        }
    }

    @Test func changes_areCountedByReason_whenTheyAreWritten() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for number in 0..<3 { _ = try await app.put("phone-\(number)", as: "alice") }
            _ = try await app.put("phone-0", as: "alice")
            _ = try await app.put("phone-0", as: "bob")
            _ = try await app.send("POST", "/installations/phone-1/logout", [:], fields: [("X-User-Id", "alice")])
            _ = try await app.delete("phone-2")
            let metrics = try await registry.send("GET", "/metrics", key: nil).text
            #expect(metrics.contains(#"push_registry_changes_total{event="registered",reason="firstRegistration"} 3"#))
            #expect(metrics.contains(#"push_registry_changes_total{event="takenOver",reason="ownerChanged"} 1"#))
            #expect(metrics.contains(#"push_registry_changes_total{event="loggedOut",reason="loggedOut"} 1"#))
            #expect(metrics.contains(#"push_registry_changes_total{event="deleted",reason="deletedByCaller"} 1"#))
        }
    }

    @Test func activeInstallations_areCountedByAppAndProvider_whenAServiceStarts() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for number in 0..<3 { _ = try await app.put("phone-\(number)", as: "alice") }
            _ = try await app.put(
                "browser", SampleRegistration.make("browser", token: "fcm-token", provider: "fcm"), as: "alice")
            _ = try await app.send("POST", "/installations/phone-1/logout", [:], fields: [("X-User-Id", "alice")])
            let metrics = try await metricsOfNewService(registry, with: "push_registry_active_installations{")
            #expect(metrics.contains(#"push_registry_active_installations{app="\#(app.id)",provider="apns"} 2"#))
            #expect(metrics.contains(#"push_registry_active_installations{app="\#(app.id)",provider="fcm"} 1"#))
            #expect(metrics.contains("push_registry_postgres_duration_seconds_count"))
            #expect(metrics.contains("push_registry_http_connections"))
        }
    }

    @Test func lastCleanUp_isReportedByAppAndStep_whenTheNightJobHasRun() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for number in 0..<10 { _ = try await app.put("phone-\(number)", as: "alice") }
            try await app.update("phone-0", "last_seen_at = now() - interval '100 days'")
            var body = SampleRegistration.make("phone-1")
            body["tokens"] = [["kind": "voip", "token": "aabbccddeeff0011"]]
            _ = try await app.put("phone-1", body, as: "alice")
            _ = try await registry.database.rows("UPDATE typed_token SET expires_at = now()")
            // A run limited by --app must not silence the alert.
            let other = try await RegistryApp.make(in: registry)
            let chosen = try await registry.run(["cleanup", "--app", other.id])
            #expect(chosen.status == 0, "\(chosen.log)")
            let before = try await metricsOfNewService(registry, with: "push_registry_active_installations{")
            #expect(!before.contains("push_registry_cleanup_last_finished_timestamp_seconds 1"))
            let cleanUp = try await registry.run(["cleanup"])
            #expect(cleanUp.status == 0, "\(cleanUp.log)")
            #expect(cleanUp.output.contains("1 expired tokens deleted"), "\(cleanUp.output)")
            let metrics = try await metricsOfNewService(registry, with: "push_registry_cleanup_last_installations{")
            #expect(metrics.contains(#"push_registry_cleanup_last_typed_tokens{app="\#(app.id)"} 1"#))
            #expect(metrics.contains(#"push_registry_cleanup_last_installations{app="\#(app.id)",step="stale"} 1"#))
            #expect(metrics.contains(#"push_registry_cleanup_last_installations{app="\#(app.id)",step="purged"} 0"#))
            #expect(metrics.contains("push_registry_cleanup_last_refused_apps 0"))
            #expect(metrics.contains("push_registry_cleanup_last_finished_timestamp_seconds 1"))
        }
    }

    /// The gauges are read when a service starts, and every few seconds afterwards.
    private func metricsOfNewService(_ registry: Registry, with name: String) async throws -> String {
        try await RunningService.with(databaseURL: registry.cluster.connectionString) { service in
            var text = ""
            try await eventually("\(name) is shown") {
                text = try await service.client.response(to: .make("GET", "/metrics", key: nil)).text
                return text.contains(name)
            }
            return text
        }
    }
}
