import Foundation
import PushRegistryTesting
import Testing

@testable import PushRegistryClient

@Suite("Tokens beside the one for alerts reach the registry, and leave it with their user")
struct TypedTokenTests {
    @Test func tokens_arriveWithTheFirstRegistration() async throws {
        let phone = Phone()
        let client = phone.launch()
        #expect(await client.didReceive(pushToStartToken: .token(1)))
        #expect(await client.didReceive(liveActivityToken: .token(2), activity: "trip-1"))
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.didRegister(token: Phone.token, provider: .apns)
        #expect(await client.settled().isRegistered)
        #expect(await phone.tokens == ["liveActivity trip-1 02", "liveActivityStart - 01"])
        #expect(await phone.calls == ["PUT"])
    }

    /// An app that reports no such token must not remove those that its back end has stored.
    @Test func registration_leavesTheTokensAlone_ifTheAppReportsNone() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        #expect(await phone.bodies.allSatisfy { $0["tokens"] == nil })
    }

    @Test func oneChange_isACallOfItsOwn() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        let end = phone.clock.now + 60
        #expect(await client.didReceive(liveActivityToken: .token(3), activity: "a/b%2F?", expiresAt: end))
        await client.settled()
        #expect(await phone.tokens == ["liveActivity a/b%2F? 03"])
        #expect(await phone.installation?.tokens.first?.expiresAt == end)
        await client.didEnd(activity: "a/b%2F?")
        await client.settled()
        #expect(await phone.tokens == [])
        #expect(await phone.calls == ["PUT", "PUT tokens", "DELETE tokens"])
    }

    /// iOS runs the app for a moment: it has not got the token for alerts yet.
    @Test func change_isSent_withoutTheTokenForAlerts() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        let woken = phone.launch()
        await woken.didReceive(liveActivityToken: .token(2), activity: "trip-1")
        await woken.didReceive(token: .token(4), kind: .widget)
        #expect(await woken.settled().isRegistered)
        #expect(await phone.tokens == [])
        await woken.signIn { phone.registry.credential(user: "alice") }
        await woken.settled()
        #expect(await phone.tokens == ["liveActivity trip-1 02", "widget - 04"])
        #expect(await phone.calls == ["PUT", "PUT tokens", "PUT tokens"])
    }

    @Test func severalChanges_areOneRegistration() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.setReachable(false)
        for byte in 1...3 as ClosedRange<UInt8> {
            await client.didReceive(token: .token(byte), kind: .voip, name: "\(byte)")
        }
        await client.didInvalidate(.voip, name: "2")
        await client.settled()
        await phone.registry.setReachable(true)
        await client.refresh()
        await client.settled()
        #expect(await phone.tokens == ["voip 1 01", "voip 3 03"])
        #expect(await phone.calls == ["PUT", "PUT"])
    }

    /// ActivityKit returns the present tokens at each launch.
    @Test func sameTokenAgain_isNotSent() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await client.didReceive(pushToStartToken: .token(1))
        await client.settled()
        let next = await phone.launch(as: "alice")
        await next.didReceive(pushToStartToken: .token(1))
        await next.settled()
        #expect(await phone.calls == ["PUT", "PUT tokens"])
        #expect(await phone.tokens == ["liveActivityStart - 01"])
    }

    @Test func change_thatIsReportedBeforeTheFirstUnlock_isSentAfterIt() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        phone.storage.isAvailable = false
        let client = phone.launch()
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.didReceive(pushToStartToken: .token(1))
        await client.settled()
        #expect(await phone.tokens == [])
        phone.storage.isAvailable = true
        await client.refresh()
        await client.settled()
        #expect(await phone.tokens == ["liveActivityStart - 01"])
    }

    /// A page of a captive portal is no response of the registry.
    @Test(arguments: [(200, "<html>"), (200, "{}"), (204, ""), (503, "{}")])
    func response_ofAnotherServer_isNotAnAcknowledgement(_ status: Int, _ body: String) async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.respondToNext(with: .init(status: status, body: Data(body.utf8)))
        await client.didReceive(pushToStartToken: .token(1))
        #expect(await client.settled().retryAt != nil)
        await client.refresh()
        #expect(await client.settled().isRegistered)
        #expect(await phone.tokens == ["liveActivityStart - 01"])
    }

    // MARK: - Limits

    @Test func expiredToken_isNotSentAgain() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await client.didReceive(liveActivityToken: .token(1), activity: "early", expiresAt: phone.clock.now + 60)
        await client.didReceive(liveActivityToken: .token(2), activity: "late")
        await client.didReceive(token: .token(3), kind: .voip)
        await client.settled()
        for (seconds, remaining) in [(60, ["late", nil]), (12 * 3_600, [nil])] as [(Double, [String?])] {
            phone.clock.advance(by: seconds)
            phone.set { $0.device.appVersion = "\(seconds)" }
            await client.refresh()
            await client.settled()
            let names = await phone.bodies.last?["tokens"]?.items.map { $0["name"]?.text }
            #expect(names == remaining)
        }
    }

    /// The one that ends first goes, and never the new one.
    @Test func seventeenth_replacesTheOneThatEndsFirst() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        for byte in 0..<14 as Range<UInt8> {
            await client.didReceive(token: .token(byte), kind: .voip, name: "\(byte)")
        }
        await client.didReceive(liveActivityToken: .token(20), activity: "b", expiresAt: phone.clock.now + 7_200)
        await client.didReceive(liveActivityToken: .token(21), activity: "a", expiresAt: phone.clock.now + 3_600)
        await client.settled()
        #expect(await phone.tokens.count == 16)
        for (byte, gone) in [(30, "liveActivity a"), (31, "liveActivity b"), (32, "voip 0 ")] as [(UInt8, String)] {
            phone.clock.advance(by: 1)
            await client.didReceive(token: .token(byte), kind: .voip, name: "\(byte)")
            await client.settled()
            let tokens = await phone.tokens
            #expect(tokens.count == 16 && !tokens.contains { $0.hasPrefix(gone) }, "\(tokens)")
            #expect(tokens.contains { $0.hasPrefix("voip \(byte) ") })
        }
    }

    @Test(arguments: ["", "-", ".", "..", "a b", "é", String(repeating: "a", count: 129)])
    func name_thatTheRegistryRefuses_isRefused(_ name: String) async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        #expect(await !client.didReceive(liveActivityToken: .token(1), activity: name))
        #expect(await !client.didReceive(token: .token(1), kind: .liveActivity))
        #expect(await !client.didReceive(token: Data(repeating: 1, count: 7), kind: .voip))
        #expect(await !client.didReceive(token: Data(repeating: 1, count: 201), kind: .voip))
        await client.settled()
        #expect(await phone.calls == ["PUT"])
    }

    // MARK: - Refusals

    /// An older registry has no such call, and a registration replaces what the registry has.
    @Test(arguments: [
        (404, "not-found"), (404, "unknown-installation"), (409, "not-active"), (409, "too-many-tokens"),
        (403, "owned-installation"), (405, "method-not-allowed"),
    ])
    func refusal_leadsToARegistration(_ status: Int, _ code: String) async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.failNext(status: status, code: code)
        await client.didReceive(pushToStartToken: .token(1))
        #expect(await client.settled().isRegistered)
        #expect(await phone.tokens == ["liveActivityStart - 01"])
        #expect(await phone.calls == ["PUT", "PUT tokens", "PUT"])
        await client.didEnd(activity: "unknown")
        await client.settled()
        #expect(await phone.calls.count == 3)
    }

    @Test func credential_isRenewedOnce_andAnEndedSessionIsReported() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice", session: "s1")
        await phone.registry.failNext(status: 401, code: "invalid-credential")
        await client.didReceive(pushToStartToken: .token(1))
        await client.settled()
        #expect(await phone.calls == ["PUT", "PUT tokens", "PUT tokens"])
        await phone.registry.endSession("s1")
        await client.didReceive(pushToStartToken: .token(2))
        #expect(await client.settled() == .signedOutElsewhere)
    }

    /// A phone whose clock is wrong must not lose its registration because of an activity.
    @Test func refusedToken_isDropped_andNeverPreventsTheRegistration() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.respondToNext(with: .refusal("/expiresAt"))
        await client.didReceive(liveActivityToken: .token(1), activity: "refused")
        #expect(await client.settled().isRegistered)
        for pointer in ["/tokens/0/token", "/tokens"] {
            await client.didReceive(token: .token(2), kind: .voip)
            await client.didReceive(token: .token(3), kind: .widget)
            await phone.registry.respondToNext(with: .refusal(pointer))
            #expect(await client.settled().isRegistered)
            await client.didInvalidate(.widget)
            await client.settled()
        }
        #expect(await phone.tokens.allSatisfy { !$0.hasPrefix("liveActivity") })
        await phone.registry.respondToNext(with: .refusal("/tokens-of-another-member"))
        phone.set { $0.device.appVersion = "2" }
        await client.refresh()
        #expect(await client.settled().problem?.status == 400)
    }

    @Test func otherProviders_getNoTokens() async throws {
        let phone = Phone()
        let client = phone.launch()
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.didRegister(fcmToken: "cBCDEFGHIJKLMNOPQRSTU1:APA91")
        await client.didReceive(pushToStartToken: .token(1))
        #expect(await client.settled().isRegistered)
        await client.didRegister(fid: "cBCDEFGHIJKLMNOPQRSTU1")
        #expect(await client.settled().isRegistered)
        #expect(await phone.installation?.token == "cBCDEFGHIJKLMNOPQRSTU1")
        #expect(await phone.bodies.allSatisfy { $0["tokens"] == nil && $0["provider"] == "fcm" })
    }

    // MARK: - Users

    @Test func newSession_ofTheSameUser_keepsTheTokens() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice", session: "s1")
        await client.didReceive(pushToStartToken: .token(1))
        await client.settled()
        await client.signIn { phone.registry.credential(user: "alice", session: "s2") }
        await client.settled()
        #expect(await phone.tokens == ["liveActivityStart - 01"])
    }

    @Test func anonymousTokens_areTheFirstUsers() async throws {
        let phone = Phone()
        let client = phone.launch()
        await client.didRegister(token: Phone.token, provider: .apns)
        await client.didReceive(pushToStartToken: .token(1))
        await client.settled()
        #expect(await phone.tokens == ["liveActivityStart - 01"])
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.settled()
        #expect(await phone.installation?.userID == "alice")
        #expect(await phone.tokens == ["liveActivityStart - 01"])
    }

    @Test func keepAnonymous_keepsWidgetsAndComplications() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        for (byte, kind) in zip(UInt8(1)..., PushRegistryClient.TokenKind.allCases) {
            await client.didReceive(token: .token(byte), kind: kind, name: "n")
        }
        await client.settled()
        try await client.signOut(keepAnonymous: true)
        #expect(await client.settled().isRegistered)
        #expect(await phone.tokens == ["complication n 06", "widget n 03"])
        #expect(await phone.installation?.userID == nil)
        #expect(await phone.installation?.state == "active")
    }

    @Test func endedSession_dropsTheTokens() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice", session: "s1")
        await client.didReceive(pushToStartToken: .token(1))
        await client.settled()
        await phone.registry.endSession("s1")
        phone.clock.advance(by: 86_400)
        #expect(await client.state { $0 == .signedOutElsewhere } != nil)
        await client.signIn { phone.registry.credential(user: "alice", session: "s2") }
        await client.settled()
        #expect(await phone.tokens == [])
    }

    /// The other phone keeps its tokens.
    @Test func copiedPhone_sendsOnlyItsOwnTokens() async throws {
        let old = Phone("old")
        let client = await old.launch(as: "alice")
        await client.didReceive(pushToStartToken: .token(1))
        await client.settled()
        let copied = Phone(
            "new", clock: old.clock, registry: old.registry, storage: InMemoryStorage(copying: old.storage))
        let next = copied.launch()
        await next.didReceive(token: .token(2), kind: .voip)
        await next.signIn { old.registry.credential(user: "alice") }
        await next.didRegister(token: String(repeating: "99", count: 32), provider: .apns)
        await next.settled()
        let registry = old.registry
        #expect(await registry.holder(of: Data.token(1).hexadecimal, kind: .liveActivityStart)?.token == Phone.token)
        #expect(await registry.holder(of: Data.token(2).hexadecimal, kind: .voip)?.token?.hasPrefix("99") == true)
    }
}

extension Phone {
    /// The tokens at the registry: kind, name and the first byte.
    fileprivate var tokens: [String] {
        get async {
            await (installation?.tokens ?? []).map { "\($0.kind.rawValue) \($0.name ?? "-") \($0.token.prefix(2))" }
        }
    }

    fileprivate var bodies: [PushRegistryClient.JSON] {
        get async {
            await registry.requests.compactMap {
                try? JSONDecoder().decode(PushRegistryClient.JSON.self, from: $0.body ?? Data())
            }
        }
    }
}

extension PushRegistryClient.JSON {
    fileprivate var items: [Self] { if case .array(let items) = self { items } else { [] } }
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}

extension PushRegistryClient.Response {
    fileprivate static func refusal(_ pointer: String) -> Self {
        let body = #"{"status":400,"code":"invalid-body","errors":[{"pointer":"\#(pointer)","code":"invalid-value"}]}"#
        return Self(status: 400, body: Data(body.utf8))
    }
}

extension Data {
    /// A token of APNs.
    fileprivate static func token(_ byte: UInt8) -> Data { Data(repeating: byte, count: 32) }
}
