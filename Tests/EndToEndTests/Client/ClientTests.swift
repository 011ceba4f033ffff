import Basics
import ClientConformance
import Foundation
import PushRegistryClient
import PushRegistryTesting
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The client package works with the service")
    struct ClientTests {
        @Test(arguments: ConformanceCheck.all)
        func check_holds_forTheService(_ check: ConformanceCheck) async throws {
            try await check.run(on: try await ServiceTarget.make())
        }

        @Test func app_registers_andSendsNothingThatIsNotNew() async throws {
            let phone = try await ClientPhone.make()
            let client = await phone.launch(as: "alice")
            guard case .registered(let until) = await client.settled() else {
                Issue.record("\(await client.settled())")
                return
            }
            #expect(until > Date(timeIntervalSinceNow: 50 * 86_400))
            let record = try await phone.onlyInstallation(of: "alice")
            #expect(record["state"] == "active")
            let settled = await phone.launch(as: "alice").settled()
            #expect(settled == .registered(until: until))
            phone.clock.advance(by: 86_400)
            let again = await phone.launch(as: "alice")
            await again.settled()
            #expect(try await phone.onlyInstallation(of: "alice")["generation"] == record["generation"])
        }
    }
}

/// A phone whose app uses the service.
private struct ClientPhone {
    let target: ServiceTarget
    let storage = InMemoryStorage()
    let clock = ManualClock(now: Date())
    let token = String(hex: (0..<32).map { _ in UInt8.random(in: 0...255) })

    static func make() async throws -> ClientPhone {
        ClientPhone(target: try await ServiceTarget.make())
    }

    func launch(as user: String) async -> PushRegistryClient {
        let client = PushRegistryClient(
            url: target.url, app: target.app, key: target.key, storage: storage, transport: target.transport,
            clock: clock)
        let target = target
        await client.signIn { try await target.credential(user: user, session: "session-of-\(user)") }
        await client.didRegister(token: token, provider: .apns)
        await client.settled()
        return client
    }

    func onlyInstallation(of user: String) async throws -> JSON {
        let all = try await target.installations(of: user)
        try #require(all.count == 1)
        return all[0]
    }
}
