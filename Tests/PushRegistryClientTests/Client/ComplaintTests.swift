import Foundation
import PushRegistryClient
import PushRegistryNotificationService
import PushRegistryTesting
import Testing

/// Complaints of users of push SDKs. The name of each test is a complaint, and its comment has the source.
@Suite("Complaints about push SDKs do not apply here")
struct ComplaintTests {
    // MARK: - Swizzling and delegates

    /// firebase-ios-sdk #7473, PostHog/posthog-ios #768 and #790, OneSignal-iOS-SDK #58 and #1439,
    /// pushwoosh-phonegap-plugin #356, exponea-ios-sdk PUSH.md: "didRegisterForRemoteNotifications is never called".
    @Test func swizzling_swallowsTheTokenCallback() throws {
        for (file, text) in try Self.sources() {
            for name in [
                "method_exchangeImplementations", "class_replaceMethod", "class_addMethod", "NSSelectorFromString",
            ] {
                #expect(!text.contains(name), "\(file)")
            }
        }
    }

    /// OneSignal-iOS-SDK #1439: conflicts with other libraries, because there is only one of it.
    @Test func singleton_excludesASecondClient() async throws {
        for (file, text) in try Self.sources() {
            #expect(!text.contains(#/static (let|var) shared/#), "\(file)")
        }
        let (one, other) = (Phone("one"), Phone("other"))
        let clients = await [one.launch(as: "alice"), other.launch(as: "bob")]
        for client in clients { #expect(await client.settled().isRegistered) }
        #expect(await one.installation?.userID == "alice")
        #expect(await other.installation?.userID == "bob")
    }

    // MARK: - Identity and storage

    /// OneSignal-iOS-SDK PR #1669: iOS prewarms the app before the first unlock, and the SDK takes the user for new.
    @Test func prewarmedApp_createsANewIdentity_beforeTheFirstUnlock() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        let id = await phone.registry.installationIDs
        phone.storage.isAvailable = false
        let client = await phone.launch(as: "alice")
        #expect(await client.settled().retryAt != nil)
        #expect(await phone.calls == ["PUT"])
        phone.storage.isAvailable = true
        phone.set { $0.device.appVersion = "2.0" }
        await client.refresh()
        #expect(await client.settled().isRegistered)
        #expect(await phone.registry.installationIDs == id)
        #expect(await phone.calls == ["PUT", "PUT"])
    }

    /// scout PR #1197, SalesforceMobileSDK-iOS #2905, #3299 and #3510: a keychain that cannot be read counts as empty.
    @Test func failedKeychainRead_createsANewDeviceID() async throws {
        let phone = Phone()
        phone.failToReadDevice()
        let client = await phone.launch(as: "alice")
        #expect(await client.settled().retryAt != nil)
        #expect(await phone.calls.isEmpty)
        phone.set { $0 = .make(fingerprint: "phone") }
        await client.refresh()
        #expect(await client.settled().isRegistered)
    }

    /// ls1intum/artemis-ios PR #204: a silent push on a locked phone means "logged out".
    @Test func silentPushOnALockedPhone_logsTheUserOut() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        phone.storage.isAvailable = false
        let background = phone.launch()
        await background.refresh()
        let state = await background.settled()
        #expect(state != .signedOut && state != .signedOutElsewhere)
        phone.storage.isAvailable = true
        #expect(await phone.launch(as: "alice").settled().isRegistered)
        #expect(await phone.installation?.userID == "alice")
    }

    /// Parse-Swift #115, #180, #235 and PR #236: the installation is nil at every later launch, on Linux too.
    @Test func installation_isNewAtEachLaunch_withFilesOnLinux() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let registry = InMemoryRegistry()
        for launch in 1...3 {
            let client = PushRegistryClient(
                url: registry.url, app: registry.app, key: registry.key,
                storage: PushRegistryClient.FileStorage(folder: folder),
                device: {
                    var snapshot = PushRegistryClient.DeviceSnapshot.make(fingerprint: "phone")
                    snapshot.device.appVersion = "\(launch)"
                    return snapshot
                }, transport: registry)
            await client.didRegister(token: Phone.token, provider: .apns)
            #expect(await client.settled().isRegistered)
        }
        #expect(await registry.installationIDs.count == 1)
        #expect(await registry.requests.count == 3)
    }

    // MARK: - Login, logout, queue

    /// OneSignal-iOS-SDK PR #1740: a login made offline is lost at the next launch.
    @Test func loginMadeOffline_isLost_atTheNextLaunch() async throws {
        let phone = Phone()
        await phone.registry.setReachable(false)
        do {
            let client = await phone.launch(as: "alice")
            #expect(await client.settled().retryAt != nil)
        }
        await phone.registry.setReachable(true)
        // Not an anonymous installation: the app has yet to say who it is.
        let client = phone.launch()
        await client.didRegister(token: Phone.token, provider: .apns)
        await client.settled()
        #expect(await phone.calls.isEmpty)
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.settled()
        #expect(await phone.installation?.userID == "alice")
    }

    /// OneSignal-iOS-SDK PR #1740: the response to A's request overwrites B, who signed in meanwhile.
    @Test(
        arguments: [nil, (409, "session-ended"), (401, "credential-ended"), (400, "invalid-body")] as [(Int, String)?])
    func responseForTheFormerUser_overwritesTheCurrentOne(_ refusal: (status: Int, code: String)?) async throws {
        let phone = Phone()
        if let refusal { await phone.registry.failNext(status: refusal.status, code: refusal.code) }
        let (client, gate) = await phone.launchHeld(as: "alice")
        await client.signIn { phone.registry.credential(user: "bob") }
        await gate.open()
        #expect(await client.settled().isRegistered)
        #expect(await phone.installation?.userID == "bob")
    }

    /// OneSignal-iOS-SDK #1497: login() called at launch has no effect. firebase-ios-sdk #10742 and #12445, flutterfire
    /// #11946: "APNS device token not set before": the order of calls is left to the app.
    @Test(arguments: ["signIn token refresh", "token signIn refresh", "refresh token signIn", "token refresh signIn"])
    func login_hasNoEffect_whenCallsComeInAnotherOrder(_ order: String) async throws {
        let phone = Phone()
        let client = phone.launch(key: false)
        for call in order.split(separator: " ") {
            switch call {
            case "signIn": await client.signIn { phone.registry.credential(user: "alice") }
            case "token": await client.didRegister(token: Phone.token, provider: .apns)
            default: await client.refresh()
            }
        }
        #expect(await client.settled().isRegistered)
        #expect(await phone.installation?.userID == "alice")
    }

    /// OneSignal-Flutter-SDK #1035 and #1061: requests fail silently and for good. OneSignal-iOS-SDK #966: a 400, and
    /// nothing is retried.
    @Test func refusal_isSilent_andForGood() async throws {
        let phone = Phone()
        await phone.registry.failNext(status: 400, code: "invalid-body")
        let client = await phone.launch(as: "alice")
        #expect(await client.settled().problem?.code == "invalid-body")
        phone.clock.advance(by: 86_400)
        #expect(await client.state { $0.isRegistered } != nil)
    }

    /// BuzzKit-iOS: errors of a registration are only logged. Here one stream has each state.
    @Test func failedRegistration_isOnlyLogged() async throws {
        let phone = Phone()
        await phone.registry.setReachable(false)
        let client = phone.launch()
        var states = client.states.makeAsyncIterator()
        #expect(await states.next() == .notRegistered)
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.didRegister(token: Phone.token, provider: .apns)
        while let state = await states.next(), state.retryAt == nil {}
        await phone.registry.setReachable(true)
        await client.refresh()
        while let state = await states.next(), !state.isRegistered {}
        await phone.registry.failNext(status: 409, code: "session-ended")
        phone.set { $0.device.appVersion = "2" }
        await client.refresh()
        while let state = await states.next(), state != .signedOutElsewhere {}
        await phone.registry.failNext(status: 403, code: "forbidden")
        await client.signIn { phone.registry.credential(user: "bob") }
        while let state = await states.next(), state.problem?.code != "forbidden" {}
        #expect(await client.settled().problem?.status == 403)
    }

    // MARK: - Concurrency and API

    /// swiftlang/swift #78833, line-sdk-ios-swift #251, growthbook-swift #164, agentpet #6, quotio PR #280: types lack
    /// Sendable, and trap or warn under Swift 6.
    @Test func types_lackSendable() throws {
        func require<Value: Sendable>(_: Value.Type) {}
        require(PushRegistryClient.self)
        require(PushRegistryClient.State.self)
        require(PushRegistryClient.Failure.self)
        require(PushRegistryClient.DeviceSnapshot.self)
        require(PushRegistryClient.MissedNotifications.self)
        require(PushRegistryClient.Topic.self)
        require(PushRegistryClient.FileStorage.self)
        require(NotificationHandler.self)
        require(PushMark.self)
        require(InMemoryRegistry.self)
        for (file, text) in try Self.sources() {
            for word in ["@unchecked", "nonisolated(unsafe)", "@preconcurrency"] {
                #expect(!text.contains(word), "\(file)")
            }
        }
    }

    /// expo #10835 and #27077: reading the token beside another SDK invalidates it, and a changed token is not sent.
    @Test func changedToken_isNotSent_andTheSDKAsksForTokensItself() async throws {
        for (file, text) in try Self.sources() {
            #expect(!text.contains("registerForRemoteNotifications()"), "\(file)")
        }
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await client.didRegister(deviceToken: Data(repeating: 0x77, count: 32), provider: .apns)
        await client.settled()
        #expect(await phone.installation?.token == String(repeating: "77", count: 32))
    }

    /// OneSignal-Flutter-SDK #1062, OneSignal PR #934: the extension ends before the receipt went out.
    @Test func extension_endsBeforeTheReceiptWentOut() async throws {
        let phone = Phone()
        let gate = GatedTransport(phone.registry)
        let handler = NotificationHandler(
            url: phone.registry.url, app: phone.registry.app, storage: phone.storage, transport: gate,
            clock: phone.clock)
        let handling = Task { await handler.handle(PushMark(receipt: "r1")) }
        await gate.arrival()
        // The system could end the process now: the receipt is stored.
        #expect(phone.storage.values.keys.contains { $0.hasPrefix("receipt-") })
        await gate.open()
        _ = await handling.value
        #expect(await phone.registry.receipts == ["r1": [.delivered]])
        #expect(!phone.storage.values.keys.contains { $0.hasPrefix("receipt-") })
    }

    /// The Swift files of the app's side, by their names.
    private static func sources() throws -> [(String, String)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/Client")
            .standardized
        let files = ["PushRegistryClient", "PushRegistryNotificationService", "PushRegistryTesting"].flatMap { target in
            FileManager.default.enumerator(
                at: root.appending(path: target).resolvingSymlinksInPath(), includingPropertiesForKeys: nil)?
                .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
        }
        try #require(files.count > 20)
        return try files.map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }
}
