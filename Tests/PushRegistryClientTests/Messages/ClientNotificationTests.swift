import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@Suite("Notifications that a phone missed are fetched")
struct ClientNotificationTests {
    @Test func missedNotifications_comeInOrder_andAreAcknowledgedByThePosition() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        for number in 1...3 { await phone.registry.notify(user: "alice", payload: ["n": .integer(Int64(number))]) }
        let all = try await client.notifications()
        #expect(all.notifications.map(\.number) == [1, 2, 3])
        #expect(all.notifications.map { $0.payload["n"] } == [1, 2, 3])
        #expect(all.last == 3 && all.next == nil)
        #expect(try await client.notifications(after: all.position).notifications.isEmpty)
        #expect(try await client.notifications().notifications.isEmpty)
    }

    @Test func anotherEpoch_isReported_withThePositionToContinueFrom() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.notify(user: "alice", payload: 1)
        let old = try await client.notifications().position
        await client.signIn { phone.registry.credential(user: "bob") }
        await client.settled()
        await phone.registry.notify(user: "bob", payload: 2)
        do {
            _ = try await client.notifications(after: old)
            Issue.record("no gap")
        } catch PushRegistryClient.Failure.notificationsGone(let position) {
            #expect(position.epoch != old.epoch && position.number == 0)
            #expect(try await client.notifications(after: position).notifications.map(\.payload) == [2])
        }
    }

    @Test func droppedNotifications_areReported_andTheOthersAreFetched() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        for number in 1...105 { await phone.registry.notify(user: "alice", payload: .integer(Int64(number))) }
        do {
            _ = try await client.notifications()
            Issue.record("no gap")
        } catch PushRegistryClient.Failure.notificationsGone(let position) {
            #expect(position.number == 5)
            #expect(try await client.notifications(after: position).notifications.count == 100)
        }
    }

    @Test func usersCredential_isUsed_ifThereIsNoDeliveryKey() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.failNext(status: 401, code: "invalid-credential")
        #expect(try await client.notifications().notifications.isEmpty)
        let fields = await phone.registry.requests.suffix(2).map { $0.fields["Authorization"] ?? "" }
        #expect(fields[0].hasPrefix("Bearer prd_") && !fields[1].hasPrefix("Bearer prd_"))
    }

    @Test func failures_areReported() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.failNext(status: 429, retryAfter: 7)
        await #expect(throws: PushRegistryClient.Failure.unavailable(retryAfter: 7)) {
            try await client.notifications()
        }
        await phone.registry.setReachable(false)
        await #expect(throws: PushRegistryClient.Failure.unavailable(retryAfter: nil)) {
            try await client.notifications()
        }
        try await client.signOut()
        await #expect(throws: PushRegistryClient.Failure.notRegistered) { try await client.notifications() }
    }
}

@Suite("Receipts are kept until the registry has them")
struct ClientReceiptTests {
    @Test func receipts_areSentTogether_afterBeingOffline() async throws {
        let phone = Phone()
        await phone.registry.setReachable(false)
        do {
            let client = phone.launch()
            for number in 1...150 { try await client.receipt("r\(number)", .opened, action: "reply") }
            await client.settled()
        }
        await phone.registry.setReachable(true)
        let client = phone.launch()
        await client.refresh()
        await client.settled()
        #expect(await phone.calls == ["POST receipts", "POST receipts"])
        #expect(await phone.registry.receipts.count == 150)
        #expect(await phone.registry.receipts["r150"] == [.opened, .delivered])
        #expect(phone.storage.values.keys.allSatisfy { !$0.hasPrefix("receipt-") })
    }

    @Test func receipts_waitForTheRateLimit_andDoNotDelayRegistrations() async throws {
        let phone = Phone()
        await phone.registry.failNext(status: 429, retryAfter: 60)
        let client = phone.launch()
        try await client.receipt("r1", .delivered)
        await client.settled()
        await client.didRegister(token: Phone.token, provider: .apns)
        #expect(await client.settled().isRegistered)
        #expect(await phone.calls == ["POST receipts", "PUT"])
        phone.clock.advance(by: 61)
        await client.refresh()
        await client.settled()
        #expect(await phone.registry.receipts["r1"] == [.delivered])
    }

    @Test func oldestReceipts_areDropped_whenThereAreTooMany() async throws {
        let phone = Phone()
        await phone.registry.setReachable(false)
        let client = phone.launch()
        for number in 1...520 {
            phone.clock.advance(by: 1)
            try await client.receipt("r\(number)", .delivered)
        }
        #expect(phone.storage.values.keys.filter { $0.hasPrefix("receipt-") }.count == 500)
    }

    @Test(arguments: ["", "a+b", "a.b", String(repeating: "a", count: 81)])
    func text_thatIsNoReceipt_isRefused(_ receipt: String) async throws {
        let client = Phone().launch()
        await #expect(throws: PushRegistryClient.Failure.invalidValue) { try await client.receipt(receipt, .opened) }
    }
}
