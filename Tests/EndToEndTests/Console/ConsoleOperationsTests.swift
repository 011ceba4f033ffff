import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The console shows operators the health and the counts of a process")
    struct ConsoleOperationsTests {
        @Test func health_isTheContentOfReadiness() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.admin, of: app)
            let health = try await visitor.send("GET", "/console/v1/health")
            #expect(health.status == 200)
            #expect(health.json == (try await visitor.send("GET", "/readyz")).json)
        }

        @Test func rates_countRequestsByClass_andRegistrationsByResult() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.admin, of: app)
            let before = try await visitor.send("GET", "/console/v1/rates").json
            for _ in 1...3 { _ = try await app.put("phone") }
            _ = try await app.put("phone", [:])
            let after = try await visitor.send("GET", "/console/v1/rates").json
            #expect(after["process"] == before["process"] && after["startedAt"] == before["startedAt"])
            // Other tests share the process.
            for (place, name, least) in [
                ("registrations", "created", 1), ("registrations", "accepted", 2), ("registrations", "refused", 1),
                ("requests", "2xx", 3), ("requests", "4xx", 1),
            ] {
                let (old, new) = (before[place][name].integer ?? 0, after[place][name].integer ?? 0)
                #expect(new >= old + Int64(least), "\(place) \(name)")
            }
        }

        @Test(arguments: ["/console/v1/health", "/console/v1/rates"])
        func otherPeople_areRefused(path: String) async throws {
            let app = try await RegistryApp.make()
            for role in [RegistryApp.Role.marketing, .support, .service, .sender] {
                #expect(try await ConsoleVisitor.make(role, of: app).send("GET", path).status == 403, "\(role)")
            }
            #expect(try await ConsoleVisitor(registry: app.registry).send("GET", path).status == 401)
        }
    }
}
