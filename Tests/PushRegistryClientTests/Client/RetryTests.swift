import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@testable import PushRegistryClient

@Suite("Failed calls are repeated if that can help")
struct ClientRetryTests {
    @Test func limits_double_toAnHour_andTheTimeIsRandom() {
        let now = Date(timeIntervalSince1970: 0)
        var retry: Retry?
        for limit in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600, 3_600] {
            let attempts = [0, 0.5, 0.75].map { Retry(after: retry, response: nil, at: now, jitter: $0) }
            #expect(attempts.map { $0.until.timeIntervalSince(now) } == [0, 0.5 * Double(limit), 0.75 * Double(limit)])
            retry = attempts[0]
        }
    }

    @Test(arguments: [
        ("120", 120), ("0", 0), ("-5", 0), ("1e99", 86_400), ("nan", 0), ("Thu, 01 Jan 1970 00:01:30 GMT", 90),
        ("soon", 0),
    ])
    func retryAfter_isAddedToTheJitter(_ field: String, _ seconds: Double) {
        let now = Date(timeIntervalSince1970: 0)
        let response = PushRegistryClient.Response(status: 503, fields: ["Retry-After": field])
        let retry = Retry(after: nil, response: response, at: now, jitter: 0.5)
        #expect(retry.until.timeIntervalSince(now) == seconds + 0.5)
    }

    @Test(arguments: [429, 500, 502, 503, 504])
    func busyRegistry_isCalledAgain_afterRetryAfter(_ status: Int) async throws {
        let phone = Phone()
        await phone.registry.failNext(status: status, retryAfter: 30)
        let client = await phone.launch(as: "alice")
        #expect(await client.settled() == .waiting(until: phone.clock.now + 30.5, registeredUntil: nil))
        // The registry named the time: an eager app does not shorten it.
        await client.refresh()
        await client.settled()
        #expect(await phone.calls == ["PUT"])
        phone.clock.advance(by: 30.5)
        #expect(await client.state { $0.isRegistered } != nil)
        #expect(await phone.calls == ["PUT", "PUT"])
    }

    @Test func network_isTriedAtOnce_whenTheAppComesToTheForeground() async throws {
        let phone = Phone()
        await phone.registry.setReachable(false)
        let client = await phone.launch(as: "alice")
        for _ in 0..<10 {
            await client.refresh()
            await client.settled()
        }
        #expect(await client.settled().retryAt != nil)
        await phone.registry.setReachable(true)
        await client.refresh()
        #expect(await client.settled().isRegistered)
    }

    @Test(arguments: [400, 403, 404, 413, 415])
    func refusal_isReported_andNotRepeated_untilSomethingChanges(_ status: Int) async throws {
        let phone = Phone()
        await phone.registry.failNext(status: status, code: "a-fault")
        let client = await phone.launch(as: "alice")
        #expect(await client.settled().problem?.code == "a-fault")
        await client.refresh()
        phone.clock.advance(by: 3_600)
        #expect(await client.settled().problem?.status == status)
        #expect(await phone.calls == ["PUT"])
        phone.set { $0.device.appVersion = "2.0" }
        await client.refresh()
        #expect(await client.settled().isRegistered)
    }

    @Test func network_isTriedAtOnce_whenItIsBack() async throws {
        let phone = Phone()
        await phone.registry.setReachable(false)
        let (returns, networkIsBack) = AsyncStream.makeStream(of: Void.self)
        let services = SystemServices(
            networkReturn: { _ = await returns.first { _ in true } }, keepRunning: SystemServices.current.keepRunning)
        let client = await phone.launch(as: "alice", services: services)
        #expect(await client.settled().retryAt != nil)
        await phone.registry.setReachable(true)
        networkIsBack.yield()
        #expect(await client.state(\.isRegistered) != nil)
    }

    @Test func backgroundRefresh_isDue_atTheNextAttempt_orBeforeTheInstallationIsStale() async throws {
        let phone = Phone()
        let client = phone.launch()
        #expect(await client.backgroundRefreshDate == nil)
        await phone.registry.setReachable(false)
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.didRegister(token: Phone.token, provider: .apns)
        await client.settled()
        #expect(await client.backgroundRefreshDate == phone.clock.now + 0.5)
        await phone.registry.setReachable(true)
        await client.refresh()
        await client.settled()
        #expect(await client.backgroundRefreshDate == phone.clock.now + 30 * 86_400)
        await phone.registry.setReachable(false)
        try await client.signOut()
        await client.settled()
        #expect(await client.backgroundRefreshDate == phone.clock.now + 0.5)
        await phone.registry.setReachable(true)
        await client.refresh()
        await client.settled()
        #expect(await client.backgroundRefreshDate == nil)
    }

    /// The registry was not set up yet, or the phone's clock was wrong.
    @Test(arguments: [401, 403, 404])
    func refusal_thatMayPass_isRepeated_whenTheAppComesToTheForeground(_ status: Int) async throws {
        let phone = Phone()
        let refusals = status == 401 ? 2 : 1
        for _ in 0..<refusals { await phone.registry.failNext(status: status, code: "a-fault") }
        let client = await phone.launch(as: "alice")
        #expect(await client.settled().problem?.status == status)
        // An eager app does not shorten it.
        await client.refresh()
        await client.settled()
        #expect(await phone.calls.count == refusals)
        phone.clock.advance(by: 60)
        await client.refresh()
        #expect(await client.settled().isRegistered)
    }

    @Test func waitingState_tellsWhetherThePhoneIsRegistered() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        let until = phone.clock.now + 60 * 86_400
        await phone.registry.setReachable(false)
        phone.clock.advance(by: 86_400)
        let client = await phone.launch(as: "alice")
        #expect(await client.settled() == .waiting(until: phone.clock.now + 0.5, registeredUntil: until))
        // It is registered, but not for bob.
        await client.signIn { phone.registry.credential(user: "bob") }
        await client.settled()
        await client.refresh()
        #expect(await client.settled() == .waiting(until: phone.clock.now + 2, registeredUntil: nil))
    }

    @Test func credential_isAskedForAgain_once_after401() async throws {
        let phone = Phone()
        let asked = Counter()
        let client = phone.launch()
        await client.signIn { phone.registry.credential(user: "alice", life: asked.next() == 1 ? -60 : 900) }
        await client.didRegister(token: Phone.token, provider: .apns)
        #expect(await client.settled().isRegistered)
        #expect(await phone.calls == ["PUT", "PUT"])
    }

    @Test func credential_thatIsRefusedTwice_isReported() async throws {
        let phone = Phone()
        let client = phone.launch()
        await client.signIn { "no JWT" }
        await client.didRegister(token: Phone.token, provider: .apns)
        #expect(await client.settled().problem?.code == "invalid-credential")
        #expect(await phone.calls == ["PUT", "PUT"])
        await client.signIn { phone.registry.credential(user: "alice") }
        #expect(await client.settled().isRegistered)
    }

    @Test(arguments: [(409, "session-ended"), (401, "credential-ended")])
    func endedSession_isReported_andNothingIsSentUntilTheNextSignIn(_ status: Int, _ code: String) async throws {
        let phone = Phone()
        await phone.registry.failNext(status: status, code: code)
        let client = await phone.launch(as: "alice")
        #expect(await client.settled() == .signedOutElsewhere)
        await client.refresh()
        await client.settled()
        #expect(await phone.launch(key: true).settled() == .notRegistered)
        #expect(await phone.calls == ["PUT"])
        await client.signIn { phone.registry.credential(user: "alice") }
        #expect(await client.settled().isRegistered)
    }

    /// A wrapper around a callback does not respect cancellation.
    @Test(.timeLimit(.minutes(1)))
    func credential_isGivenUp_whenTheAppNeverCallsBack() async throws {
        let phone = Phone()
        let client = phone.launch()
        let asked = Counter()
        await client.signIn {
            asked.next()
            return await withUnsafeContinuation { (_: UnsafeContinuation<String, Never>) in }
        }
        await client.didRegister(token: Phone.token, provider: .apns)
        while asked.value == 0 { await Task.yield() }
        phone.clock.advance(by: 31)
        #expect(await client.state { $0.retryAt != nil } != nil)
        #expect(await phone.calls.isEmpty)
        await client.signIn { phone.registry.credential(user: "alice") }
        #expect(await client.state(\.isRegistered) != nil)
    }

    @Test func responseOfACaptivePortal_isIgnored() async throws {
        let phone = Phone()
        await phone.registry.respondToNext(with: .init(status: 200, body: Data("<html>Welcome</html>".utf8)))
        await phone.registry.respondToNext(with: .init(status: 302, fields: ["Location": "https://portal.invalid"]))
        let client = await phone.launch(as: "alice")
        #expect(await client.settled().retryAt != nil)
        await client.refresh()
        #expect(await client.settled().retryAt != nil)
        await client.refresh()
        #expect(await client.settled().isRegistered)
    }
}
