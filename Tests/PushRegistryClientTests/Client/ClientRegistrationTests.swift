import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@Suite("A registration is sent if something changed or it is due")
struct ClientRegistrationTests {
    @Test func registration_isSentOnce_whenAllIsThere() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        #expect(await client.settled() == .registered(until: phone.clock.now + 60 * 86_400))
        #expect(await phone.installation?.userID == "alice")
        #expect(await phone.installation?.token == Phone.token)
        #expect(await phone.calls == ["PUT"])
    }

    @Test func refresh_isCoalesced_andSendsNothing_whenNothingChanged() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        for _ in 0..<100 { await client.refresh() }
        await client.settled()
        _ = await phone.launch(as: "alice")
        #expect(await phone.calls == ["PUT"])
    }

    @Test func refresh_sendsTheLatestState_whenSeveralThingsChangeDuringARequest() async throws {
        let phone = Phone()
        let (client, gate) = await phone.launchHeld(as: "alice")
        for number in 1...20 {
            phone.set { $0.device.appVersion = "2.\(number)" }
            await client.refresh()
        }
        await gate.open()
        await client.settled()
        #expect(await phone.calls == ["PUT", "PUT"])
        #expect(await gate.concurrentMax == 1)
        let body = await String(decoding: phone.registry.requests.last?.body ?? Data(), as: UTF8.self)
        #expect(body.contains("2.20"))
    }

    @Test(arguments: ["language", "permission", "token", "zone"])
    func registration_isSentAgain_whenItChanged(_ what: String) async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        switch what {
        case "language": phone.set { $0.device.locale = "fr_FR" }
        case "permission": phone.set { $0.settings.authorizationStatus = .denied }
        case "zone": phone.set { $0.device.timeZoneOffset = 7_200 }
        default: await client.didRegister(deviceToken: Data(repeating: 0xab, count: 32), provider: .apns)
        }
        await client.refresh()
        await client.settled()
        #expect(await phone.calls == ["PUT", "PUT"])
    }

    @Test func registration_isRepeatedByItself_afterADay() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        phone.clock.advance(by: 86_400)
        let until = phone.clock.now + 60 * 86_400
        #expect(await client.state { $0 == .registered(until: until) } != nil)
        #expect(await phone.calls == ["PUT", "PUT"])
    }

    @Test func registration_waitsForTheToken_andForTheSignIn() async throws {
        let phone = Phone()
        let client = phone.launch(key: false)
        await client.refresh()
        #expect(await client.settled() == .notRegistered)
        await client.didRegister(token: Phone.token, provider: .apns)
        #expect(await client.settled() == .notRegistered)
        await client.signIn { phone.registry.credential(user: "alice") }
        #expect(await client.settled().isRegistered)
    }

    @Test func failureToGetAToken_isReported_untilThereIsOne() async throws {
        let phone = Phone()
        let client = phone.launch()
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.didFailToRegister(CocoaError(.featureUnsupported))
        let reason = CocoaError(.featureUnsupported).localizedDescription
        #expect(await client.settled() == .noToken(reason: reason))
        await client.didRegister(token: Phone.token, provider: .apns)
        #expect(await client.settled().isRegistered)
        // The system may fail to renew the token of a phone that is registered.
        let next = phone.launch()
        await next.didFailToRegister(CocoaError(.featureUnsupported))
        #expect(await next.settled().isRegistered)
    }

    @Test func registration_isAnonymous_untilTheFirstSignIn_ifTheAppHasTheKey() async throws {
        let phone = Phone()
        let client = phone.launch()
        await client.didRegister(token: Phone.token, provider: .apns)
        #expect(await client.settled().isRegistered)
        #expect(await phone.installation?.userID == nil)
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.settled()
        #expect(await phone.installation?.userID == "alice")
    }

    /// An app learns asynchronously that a user is signed in. Until then, it must not become anonymous.
    @Test func registration_waitsForTheSignIn_whenAUserWasSignedInAtTheLastLaunch() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        let client = phone.launch()
        await client.didRegister(token: String(repeating: "77", count: 32), provider: .apns)
        await client.settled()
        #expect(await phone.calls == ["PUT"])
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.settled()
        #expect(await phone.installation?.token == String(repeating: "77", count: 32))
        #expect(await phone.installation?.userID == "alice")
    }

    @Test func ifMatch_isTheGenerationOfTheLastResponse() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        let eTag = "\"\(try #require(await phone.installation).generation)\""
        await client.didRegister(token: String(repeating: "77", count: 32), provider: .apns)
        await client.settled()
        #expect(await phone.registry.requests.map { $0.fields["If-Match"] } == [nil, eTag])
    }

    @Test func outdated_isSentAgainWithoutIfMatch() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.logOut(user: "alice")
        phone.clock.advance(by: 1)
        await client.didRegister(token: String(repeating: "77", count: 32), provider: .apns)
        #expect(await client.settled().isRegistered)
        #expect(await phone.calls == ["PUT", "PUT", "PUT"])
        #expect(await phone.registry.requests.last?.fields["If-Match"] == nil)
        #expect(await phone.installation?.state == "active")
    }
}
