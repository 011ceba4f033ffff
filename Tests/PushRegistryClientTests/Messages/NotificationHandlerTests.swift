import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@testable import PushRegistryNotificationService

@Suite("The notification service fetches what was missed")
struct NotificationHandlerTests {
    @Test(
        arguments: [
            (1, 0, "e", nil, DeliveryPlan.complete),
            (5, 4, "e", 4, .complete),
            (5, 2, "e", 4, .complete),
            (5, 4, "e", 3, .fetch(after: .init(epoch: "e", number: 3))),
            (5, 4, "e", nil, .fetch(after: .init(epoch: "e", number: 0))),
            (5, 4, "e", 5, .repeated),
            (5, 4, "e", 9, .repeated),
            (1, 0, "new", 9, .complete),
            (5, 4, "new", 9, .fetch(after: .init(epoch: "new", number: 0))),
        ] as [(Int64, Int64, String, Int64?, DeliveryPlan)])
    func plan(_ number: Int64, _ previous: Int64, _ epoch: String, _ last: Int64?, _ expected: DeliveryPlan) {
        let push = PushMark.Number(number: number, previous: previous, epoch: epoch)
        #expect(DeliveryPlan(push, last: last.map { .init(epoch: "e", number: $0) }) == expected)
    }

    @Test func mark_isReadFromThePayload() {
        let mark = PushMark(userInfo: [
            "aps": ["alert": "Hello"], "receipt": "abc",
            "registry": ["number": 56, "previous": 55, "epoch": "k3f"] as [String: Any],
        ])
        #expect(mark == PushMark(number: .init(number: 56, previous: 55, epoch: "k3f"), receipt: "abc"))
        let text = PushMark(userInfo: ["registry": ["number": "56", "previous": "55", "epoch": "k3f"]])
        #expect(text.number == mark.number)
        #expect(PushMark(userInfo: [:]) == PushMark())
        for odd: [String: Any] in [["number": 56], ["number": 0, "epoch": "e"], ["number": "x", "epoch": "e"]] {
            #expect(PushMark(userInfo: ["registry": odd, "receipt": 7]) == PushMark())
        }
        #expect(PushMark(userInfo: ["registry": "text"]) == PushMark())
    }

    @Test func missedNotifications_areShown_beforeTheOneThatArrived() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        var marks: [PushMark] = []
        for number in 1...5 { marks += await phone.push(["n": .integer(Int64(number))]) }
        // Of five pushes, the first, the fourth and again the first arrive.
        #expect(await phone.handler.handle(marks[0]).missed.isEmpty)
        #expect(await phone.handler.handle(marks[3]).missed.map(\.number) == [2, 3])
        #expect(await phone.handler.handle(marks[0]).isRepeated)
        #expect(await phone.handler.handle(marks[4]) == NotificationHandler.Outcome())
    }

    @Test func missedNotifications_areFetchedLater_whenTheNetworkFails() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        var marks: [PushMark] = []
        for number in 1...4 { marks += await phone.push(.integer(Int64(number))) }
        await phone.registry.setReachable(false)
        #expect(await phone.handler.handle(marks[2]) == NotificationHandler.Outcome())
        await phone.registry.setReachable(true)
        #expect(await phone.handler.handle(marks[3]).missed.map(\.number) == [1, 2, 3])
    }

    @Test func gap_isReported_andTheRestIsShown() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        var marks: [PushMark] = []
        for number in 1...105 { marks += await phone.push(.integer(Int64(number))) }
        let outcome = await phone.handler.handle(try #require(marks.last))
        #expect(outcome.hasGap)
        #expect(outcome.missed.map(\.number) == Array(6...104))
    }

    @Test func missedNotifications_ofAllPages_areFetched() async throws {
        let phone = Phone()
        let marks = try await phone.missed(250)
        let outcome = await phone.handler.handle(try #require(marks.last))
        #expect(outcome.missed.map(\.number) == Array(1...249))
        #expect(!outcome.hasGap)
    }

    /// The fetch of the second page acknowledges the first one.
    @Test func missedNotifications_ofTheFirstPage_areNotLost_whenTheNetworkFailsAfterIt() async throws {
        let phone = Phone()
        let marks = try await phone.missed(250)
        let failing = phone.handler(by: FailingTransport(registry: phone.registry, requestsMax: 1))
        #expect(await failing.handle(marks[248]).missed.map(\.number) == Array(1...100))
        #expect(await phone.handler.handle(marks[249]).missed.map(\.number) == Array(101...249))
    }

    @Test func nothingIsFetched_forAFormerOwner() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        let marks = await phone.push("for alice") + phone.push("for alice, too")
        try await client.signOut()
        await client.signIn { phone.registry.credential(user: "bob") }
        await client.settled()
        await phone.registry.notify(user: "bob", payload: "for bob")
        let outcome = await phone.handler.handle(marks[1])
        #expect(outcome.missed.isEmpty)
    }

    /// The transport does not respect cancellation either.
    @Test(.timeLimit(.minutes(1)))
    func push_isShownAfterThreeSeconds_whenTheRegistryDoesNotRespond() async throws {
        let phone = Phone()
        let marks = try await phone.missed(2)
        let network = GatedTransport(phone.registry)
        let handler = phone.handler(by: network)
        var mark = marks[1]
        mark.receipt = "r1"
        let (outcomes, outcome) = AsyncStream.makeStream(of: NotificationHandler.Outcome.self)
        Task { [mark] in outcome.yield(await handler.handle(mark)) }
        await network.arrival()
        phone.clock.advance(by: 3)
        #expect(await outcomes.first { _ in true } == NotificationHandler.Outcome())
        // The receipt and the missed notification wait for the next push.
        await network.open()
        var next = await phone.push("third")
        next[0].receipt = "r2"
        #expect(await phone.handler.handle(next[0]).missed.map(\.number) == [1, 2])
        #expect(Set(await phone.registry.receipts.keys) == ["r1", "r2"])
    }

    @Test func receipt_isSentByTheApp_whenTheExtensionCouldNot() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.setReachable(false)
        _ = await phone.handler.handle(PushMark(receipt: "r1"))
        await phone.registry.setReachable(true)
        let next = phone.launch()
        await next.refresh()
        await next.settled()
        #expect(await phone.registry.receipts == ["r1": [.delivered]])
        _ = client
    }
}

/// A network that fails after some requests.
private actor FailingTransport: PushRegistryClient.Transport {
    private let registry: InMemoryRegistry
    private var requestsLeft: Int

    init(registry: InMemoryRegistry, requestsMax: Int) {
        self.registry = registry
        requestsLeft = requestsMax
    }

    func send(_ request: PushRegistryClient.Request) async throws -> PushRegistryClient.Response {
        requestsLeft -= 1
        guard requestsLeft >= 0 else { throw CancellationError() }
        return try await registry.send(request)
    }
}

extension Phone {
    var handler: NotificationHandler { handler(by: registry) }

    fileprivate func handler(by transport: any PushRegistryClient.Transport) -> NotificationHandler {
        NotificationHandler(url: registry.url, app: registry.app, storage: storage, transport: transport, clock: clock)
    }

    /// The pushes of this many new notifications, none of which has arrived.
    fileprivate func missed(_ count: Int) async throws -> [PushMark] {
        _ = await launch(as: "alice")
        await registry.setNotificationsMax(1_000)
        var marks: [PushMark] = []
        for number in 1...count { marks += await push(.integer(Int64(number))) }
        try #require(marks.count == count)
        return marks
    }

    /// What the push of a new notification for alice carries.
    func push(_ payload: PushRegistryClient.JSON) async -> [PushMark] {
        await registry.notify(user: "alice", payload: payload).map {
            PushMark(number: .init(number: $0.number, previous: $0.previous, epoch: $0.epoch))
        }
    }
}
