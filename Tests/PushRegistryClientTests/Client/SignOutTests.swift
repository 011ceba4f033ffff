import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@testable import PushRegistryClient

@Suite("A sign-out reaches the registry, however late")
struct ClientSignOutTests {
    @Test func signOut_logsOut_withCredentialAndGeneration() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        let eTag = "\"\(try #require(await phone.installation).generation)\""
        try await client.signOut()
        #expect(await client.settled() == .signedOut)
        #expect(await phone.installation?.state == "loggedOut")
        #expect(await phone.registry.requests.last?.fields["If-Match"] == eTag)
        #expect(await phone.calls == ["PUT", "POST logout"])
        // A registration would make the installation active again.
        await client.refresh()
        await client.didRegister(token: String(repeating: "77", count: 32), provider: .apns)
        await client.settled()
        #expect(await phone.calls.count == 2)
    }

    @Test func signOut_isReplayed_beforeTheNextRegistration_afterARestart() async throws {
        let phone = Phone()
        try await phone.launchAndSignOutOffline(as: "alice", session: "s1")
        phone.clock.advance(by: 3 * 86_400)
        _ = await phone.launch(as: "bob", session: "s2")
        #expect(await phone.calls == ["PUT", "POST logout", "PUT"])
        #expect(await phone.installation?.userID == "bob")
    }

    /// Someone has set the phone's clock to another year. The registry decides what is too late.
    @Test func signOut_isSent_whateverThePhonesClockSays() async throws {
        let phone = Phone(registry: InMemoryRegistry(clock: ManualClock()))
        try await phone.launchAndSignOutOffline(as: "alice")
        phone.clock.advance(by: 400 * 86_400)
        let next = phone.launch()
        await next.refresh()
        #expect(await next.settled() == .signedOut)
        #expect(await phone.installation?.state == "loggedOut")
        #expect(phone.storage.values["logouts"] == nil)
    }

    /// The app's files are on another phone now, or the system has another id for the same phone.
    @Test func signOut_isSentForTheOldInstallation_byACopy() async throws {
        let old = Phone("old")
        try await old.launchAndSignOutOffline(as: "alice")
        let copied = Phone(
            "new", clock: old.clock, registry: old.registry, storage: InMemoryStorage(copying: old.storage))
        let client = copied.launch()
        await client.signIn { old.registry.credential(user: "bob") }
        await client.didRegister(token: String(repeating: "77", count: 32), provider: .apns)
        #expect(await client.settled().isRegistered)
        #expect(await old.registry.holder(of: Phone.token) == nil)
        #expect(await old.registry.installationIDs.count == 2)
    }

    @Test func signOut_logsOut_whenTheRegistrationIsInProgress() async throws {
        let phone = Phone()
        let (client, gate) = await phone.launchHeld(as: "alice")
        try await client.signOut()
        await gate.open()
        #expect(await client.settled() == .signedOut)
        #expect(await phone.installation?.state == "loggedOut")
    }

    /// The outcome of the refused call is known, and that of the call before is not.
    @Test func signOut_logsOut_whenTheNextRegistrationWasRefused() async throws {
        let phone = Phone()
        let lossy = LossyTransport(phone.registry)
        let client = await phone.launch(as: "alice", transport: lossy)
        await lossy.loseNextResponse()
        await client.didRegister(token: String(repeating: "77", count: 32), provider: .apns)
        await client.settled()
        await phone.registry.failNext(status: 403, code: "forbidden")
        await client.refresh()
        #expect(await client.settled().problem?.code == "forbidden")
        try await client.signOut()
        #expect(await client.settled() == .signedOut)
        #expect(await phone.installation?.state == "loggedOut")
    }

    /// bob replaced alice without a sign-out, and the registry does not know.
    @Test func signOut_logsTheReplacedUserOut_too() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice", session: "a")
        await phone.registry.setReachable(false)
        await client.signIn { phone.registry.credential(user: "bob", session: "b") }
        await client.settled()
        try await client.signOut()
        await phone.registry.setReachable(true)
        await client.refresh()
        #expect(await client.settled() == .signedOut)
        #expect(await phone.registry.holder(of: Phone.token) == nil)
    }

    @Test func signOut_usesTheDeliveryKey_whenTheCredentialIsGone() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        // Nothing was due at this launch, so no credential was used; and the app has deleted it already.
        let client = phone.launch()
        await client.signIn { throw CocoaError(.userCancelled) }
        await client.didRegister(token: Phone.token, provider: .apns)
        try await client.signOut()
        phone.clock.advance(by: 1)
        await client.settled()
        await client.refresh()
        await client.settled()
        #expect(await phone.installation?.state == "loggedOut")
        let fields = try #require(await phone.registry.requests.last?.fields)
        #expect(fields["Authorization"] == "Bearer \(phone.registry.key)")
        #expect(fields["X-Delivery-Key"]?.hasPrefix("prd_") == true && fields["If-Match"] == nil)
    }

    /// A JWT that is older than the installation's binding is refused, and then the delivery key proves the right.
    @Test func signOut_usesTheDeliveryKey_whenTheCredentialIsTooOld() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.setReachable(false)
        try await client.signOut()
        await client.settled()
        await phone.registry.setReachable(true)
        phone.clock.advance(by: 40 * 86_400)
        await client.refresh()
        #expect(await client.settled() == .signedOut)
        #expect(await phone.calls == ["PUT", "POST logout", "POST logout"])
        #expect(await phone.installation?.state == "loggedOut")
    }

    /// The logout cannot succeed, so the user still owns the installation in the registry, with an old token.
    @Test func newToken_isRegisteredUnderANewId_whenTheFormerUserStillOwnsTheOldOne() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.failNext(status: 403, code: "forbidden")
        await phone.registry.setReachable(false)
        try await client.signOut(keepAnonymous: true)
        await client.didRegister(token: String(repeating: "77", count: 32), provider: .apns)
        await client.settled()
        await phone.registry.setReachable(true)
        await client.refresh()
        #expect(await client.settled().isRegistered)
        #expect(await phone.registry.installationIDs.count == 2)
        let holder = try #require(await phone.registry.holder(of: String(repeating: "77", count: 32)))
        #expect(holder.userID == nil)
    }

    @Test(arguments: [400, 403, 404])
    func logout_thatCannotSucceed_isRemoved(_ status: Int) async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.failNext(status: status)
        try await client.signOut()
        await client.settled()
        #expect(phone.storage.values["logouts"] == nil)
        #expect(await phone.calls == ["PUT", "POST logout"])
    }

    /// The phone goes into the pocket.
    @Test func signOut_keepsTheAppRunning_untilTheLogoutIsSent() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        let (begun, ended) = (Counter(), Counter())
        let services = SystemServices(
            networkReturn: SystemServices.current.networkReturn,
            keepRunning: {
                begun.next()
                return { ended.next() }
            })
        let gate = GatedTransport(phone.registry)
        let client = phone.launch(transport: gate, services: services)
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.settled()
        #expect(begun.value == 0)
        try await client.signOut()
        await gate.arrival()
        #expect(begun.value == 1 && ended.value == 0)
        await gate.open()
        await client.settled()
        #expect(begun.value == 1 && ended.value == 1)
        #expect(await phone.installation?.state == "loggedOut")
    }

    @Test func signOut_throws_whenItCannotBeStored_andIsSentNevertheless() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        phone.storage.isAvailable = false
        await #expect(throws: PushRegistryClient.Failure.storageUnavailable) { try await client.signOut() }
        await client.settled()
        phone.storage.isAvailable = true
        await client.refresh()
        await client.settled()
        #expect(await phone.installation?.state == "loggedOut")
    }
}

extension Phone {
    /// A process that ends before the logout is sent.
    func launchAndSignOutOffline(as user: String, session: String? = nil) async throws {
        let client = await launch(as: user, session: session)
        await registry.setReachable(false)
        try await client.signOut()
        await client.settled()
        await registry.setReachable(true)
    }
}

/// Loses responses: the request arrives, and the client gets no response.
actor LossyTransport: PushRegistryClient.Transport {
    private let next: any PushRegistryClient.Transport
    private var losesNext = false

    init(_ next: any PushRegistryClient.Transport) {
        self.next = next
    }

    func loseNextResponse() {
        losesNext = true
    }

    func send(_ request: PushRegistryClient.Request) async throws -> PushRegistryClient.Response {
        let response = try await next.send(request)
        guard losesNext else { return response }
        losesNext = false
        throw URLError(.timedOut)
    }
}
