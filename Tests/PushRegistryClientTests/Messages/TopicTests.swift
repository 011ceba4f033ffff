import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@Suite("Choices of topics survive being offline")
struct ClientTopicTests {
    @Test func choice_madeOffline_arrivesWithTheNextLaunch() async throws {
        let phone = Phone()
        await phone.registry.define(topic: "news", name: "News")
        do {
            let client = await phone.launch(as: "alice")
            await phone.registry.setReachable(false)
            try await client.subscribe(to: "news")
            await client.settled()
        }
        await phone.registry.setReachable(true)
        let client = await phone.launch(as: "alice")
        #expect(await phone.installation?.topics == ["news": true])
        // It is sent once: a choice made elsewhere since is not overwritten.
        phone.set { $0.device.appVersion = "2.0" }
        await client.refresh()
        await client.settled()
        let body = await phone.registry.requests.last?.body ?? Data()
        #expect(!String(decoding: body, as: UTF8.self).contains("topics"))
    }

    @Test func topics_showChoices_beforeTheRegistryHasThem() async throws {
        let phone = Phone()
        await phone.registry.define(topic: "news", name: "News")
        await phone.registry.define(topic: "offers", name: "Offers", subscribed: true)
        await phone.registry.define(topic: "security", name: "Security", locked: true)
        let client = await phone.launch(as: "alice")
        await phone.registry.failNext(status: 503)
        try await client.subscribe(to: "news")
        try await client.unsubscribe(from: "security")
        await client.settled()
        let topics = try await client.topics
        #expect(topics.map(\.topic) == ["news", "offers", "security"])
        #expect(topics.map(\.subscribed) == [true, true, true])
        #expect(topics.map(\.from) == [.installation, .byDefault, .byDefault])
    }

    @Test func reset_returnsToTheUsersChoice() async throws {
        let phone = Phone()
        await phone.registry.define(topic: "news", name: "News")
        await phone.registry.choose(topic: "news", subscribed: true, user: "alice")
        let client = await phone.launch(as: "alice")
        try await client.unsubscribe(from: "news")
        await client.settled()
        #expect(try await client.topics.first?.subscribed == false)
        try await client.resetSubscription(to: "news")
        await client.settled()
        #expect(try await client.topics.first?.from == .user)
        #expect(try await client.topics.first?.subscribed == true)
    }

    /// The first owner's registration resets the choices of the installation.
    @Test func choice_madeWithoutAUser_isKeptByTheSignIn() async throws {
        let phone = Phone()
        await phone.registry.define(topic: "news", name: "News")
        let client = phone.launch()
        await client.didRegister(token: Phone.token, provider: .apns)
        try await client.subscribe(to: "news")
        await client.settled()
        #expect(await phone.installation?.topics == ["news": true])
        await client.signIn { phone.registry.credential(user: "alice") }
        await client.settled()
        #expect(await phone.installation?.topics == ["news": true])
    }

    @Test func choice_madeWithoutAUser_isKeptByTheNextPhone() async throws {
        let old = Phone("old")
        await old.registry.define(topic: "news", name: "News")
        let client = old.launch()
        await client.didRegister(token: Phone.token, provider: .apns)
        try await client.subscribe(to: "news")
        await client.settled()
        let token = String(repeating: "99", count: 32)
        let copied = Phone(
            "new", clock: old.clock, registry: old.registry, storage: InMemoryStorage(copying: old.storage))
        let next = copied.launch()
        await next.didRegister(token: token, provider: .apns)
        await next.settled()
        #expect(await old.registry.holder(of: token)?.topics == ["news": true])
        await next.signIn { old.registry.credential(user: "alice") }
        await next.settled()
        #expect(await old.registry.holder(of: token)?.topics == ["news": true])
    }

    @Test func choice_isDropped_whenTheUserSignsOut() async throws {
        let phone = Phone()
        await phone.registry.define(topic: "news", name: "News")
        let client = await phone.launch(as: "alice")
        await phone.registry.setReachable(false)
        try await client.subscribe(to: "news")
        try await client.signOut()
        await client.signIn { phone.registry.credential(user: "bob") }
        await client.settled()
        await phone.registry.setReachable(true)
        await client.refresh()
        await client.settled()
        #expect(await phone.installation?.userID == "bob")
        #expect(await phone.installation?.topics == [:])
    }

    @Test(arguments: ["", "News", "a b", String(repeating: "a", count: 65)])
    func text_thatCannotNameATopic_isRefused(_ topic: String) async throws {
        let client = Phone().launch()
        await #expect(throws: PushRegistryClient.Failure.invalidValue) { try await client.subscribe(to: topic) }
    }

    @Test func topics_needARegisteredInstallation() async throws {
        let client = Phone().launch()
        await #expect(throws: PushRegistryClient.Failure.notRegistered) { try await client.topics }
    }
}
