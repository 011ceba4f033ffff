import ClientConformance
import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@Suite("The in-memory registry behaves as the service does")
struct InMemoryRegistryConformanceTests {
    @Test(arguments: ConformanceCheck.all)
    func check_holds(_ check: ConformanceCheck) async throws {
        try await check.run(on: Double(registry: InMemoryRegistry()))
    }

    private struct Double: ConformanceTarget {
        let registry: InMemoryRegistry

        var transport: any PushRegistryClient.Transport { registry }
        var url: URL { registry.url }
        var app: String { registry.app }
        var key: String { registry.key }

        func credential(user: String, session: String?, age: Int, life: Int) async throws -> String {
            registry.credential(
                user: user, session: session, issuedAt: Date(timeIntervalSinceNow: -TimeInterval(age)),
                life: TimeInterval(life))
        }

        func endSession(_ session: String) async throws { await registry.endSession(session) }

        func define(topic: String, locked: Bool) async throws {
            await registry.define(topic: topic, name: topic, locked: locked)
        }

        func limit(installationsPerUser count: Int) async { await registry.setInstallationsPerUser(count) }

        func notify(user: String, payload: PushRegistryClient.JSON) async throws -> [Int] {
            await registry.notify(user: user, payload: payload).map(\.badge)
        }
    }
}
