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

        @Test func users_takeTurnsOnAPhone() async throws {
            let phone = try await ClientPhone.make()
            let client = await phone.launch(as: "alice")
            for user in ["bob", "carol", "alice"] {
                try await client.signOut()
                await client.signIn { try await phone.target.credential(user: user, session: UUID().uuidString) }
                let state = await client.settled()
                guard case .registered = state else {
                    Issue.record("\(user): \(state)")
                    return
                }
                #expect(try await phone.onlyInstallation(of: user)["state"] == "active")
            }
            #expect(try await phone.target.installations(of: "bob").isEmpty)
        }

        @Test func signOut_madeOffline_reachesTheService_atTheNextLaunch() async throws {
            let phone = try await ClientPhone.make()
            do {
                let client = await phone.launch(as: "alice")
                await client.settled()
                await phone.network.setReachable(false)
                try await client.signOut()
                await client.settled()
            }
            let id = try #require(try await phone.onlyInstallation(of: "alice")["installId"].string)
            await phone.network.setReachable(true)
            let next = phone.launch()
            await next.refresh()
            await next.settled()
            #expect(try await phone.target.installation(id)["state"] == "loggedOut")
            #expect(try await phone.target.installations(of: "alice").isEmpty)
        }

        @Test func sessionThatEndedElsewhere_isReported() async throws {
            let phone = try await ClientPhone.make()
            let session = UUID().uuidString
            let client = await phone.launch(as: "alice", session: session)
            await client.settled()
            try await phone.target.endSession(session)
            await client.didRegister(token: String(repeating: "ab", count: 32), provider: .apns)
            #expect(await client.settled() == .signedOutElsewhere)
        }

        @Test func wrongApp_isReportedAsMisconfigured() async throws {
            let phone = try await ClientPhone.make()
            let client = PushRegistryClient(
                url: phone.target.url, app: "com.example.unknown", key: phone.target.key, storage: InMemoryStorage(),
                transport: phone.network)
            await client.didRegister(token: phone.token, provider: .apns)
            guard case .misconfigured(let problem) = await client.settled() else {
                Issue.record("\(await client.settled())")
                return
            }
            #expect(problem.status == 404 || problem.status == 401, "\(problem)")
        }
    }
}

/// A phone whose app uses the service.
private struct ClientPhone {
    let target: ServiceTarget
    let network: Network
    let storage = InMemoryStorage()
    let clock = ManualClock(now: Date())
    let token = String(hex: (0..<32).map { _ in UInt8.random(in: 0...255) })

    static func make() async throws -> ClientPhone {
        let target = try await ServiceTarget.make()
        return ClientPhone(target: target, network: Network(target.transport))
    }

    func launch() -> PushRegistryClient {
        PushRegistryClient(
            url: target.url, app: target.app, key: target.key, storage: storage, transport: network, clock: clock)
    }

    func launch(as user: String, session: String? = nil) async -> PushRegistryClient {
        let client = launch()
        let target = target
        let session = session ?? "session-of-\(user)"
        await client.signIn { try await target.credential(user: user, session: session) }
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

/// A network that can fail.
private actor Network: PushRegistryClient.Transport {
    private let next: any PushRegistryClient.Transport
    private var isReachable = true

    init(_ next: any PushRegistryClient.Transport) {
        self.next = next
    }

    func setReachable(_ isReachable: Bool) {
        self.isReachable = isReachable
    }

    func send(_ request: PushRegistryClient.Request) async throws -> PushRegistryClient.Response {
        guard isReachable else { throw URLError(.notConnectedToInternet) }
        return try await next.send(request)
    }
}
