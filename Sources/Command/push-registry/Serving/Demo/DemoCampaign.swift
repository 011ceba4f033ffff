import PushRegistry
import Receipts
import RegistryStore

/// The topics of the demo's fleet, the choices of some users, and a message some hours ago with what became of it.
struct DemoCampaign {
    let topics: PostgresTopicStore
    let messages: PostgresMessageStore
    let audiences: PostgresAudienceStore

    private static let catalogue = [
        (slug: "security", name: "Security", isIn: true, isLocked: true),
        (slug: "offers", name: "Offers", isIn: true, isLocked: false),
        (slug: "news", name: "News", isIn: false, isLocked: false),
    ]
    private static let message = "spring-sale"
    /// So long ago that the curve of the opened ones has flattened.
    private static let age = ISO8601Duration.hours(20)
    private static let targetsMax = 3_000
    private static let targetsPerPage = 1_000
    /// One in so many users leaves the offers, and one in so many wants news.
    private static let leavesOffers = 6
    private static let wantsNews = 4

    /// - Parameter directory: reads the app again, because a choice is checked against its topics.
    func run(for app: App, in directory: PostgresAppDirectory) async throws {
        for topic in Self.catalogue {
            let content = try Topic.Content(
                name: topic.name, description: nil, category: nil, isInByDefault: topic.isIn, isLocked: topic.isLocked)
            _ = try await topics.put(
                try TopicSlug(topic.slug), content, in: app.number, recording: .ofCommand(.topicSaved, topic.slug))
        }
        guard let app = try await directory.current().apps[app.id] else { return }
        let sentAt = Timestamp.now().preceding(by: Self.age)
        let content = MessageContent(
            title: "Spring sale", labels: [.init(name: "season", value: "spring")], isRecorded: true)
        let message = try await messages.put(try MessageName(Self.message), content, in: app.number, at: sentAt).message
        guard let sealer = ReceiptSealer(message, of: app, ReceiptKeys()) else { return }
        let everybody = Audience(.everybody, include: .reachable, of: app)
        var position = AudiencePosition.start
        for _ in 0..<(Self.targetsMax / Self.targetsPerPage) {
            let page = try await audiences.page(
                everybody, from: position, limit: Self.targetsPerPage, explains: false)
            try await send(message, to: page.items, sealer, of: app, at: sentAt)
            try await choose(page.items, of: app)
            position = .installID(after: page.items.last?.installID)
            guard page.hasMore else { return }
        }
    }

    private func send(
        _ message: Message, to items: [AudiencePage.Item], _ sealer: ReceiptSealer, of app: App, at sentAt: Timestamp
    ) async throws {
        let targets = items.map { item in
            MessageTarget(
                installation: sealer.hash(item.installID), cell: item.cell, installID: item.installID.rawValue,
                userID: item.userID)
        }
        try await messages.target(targets, for: message, of: app.number, at: sentAt)
        let accepted = targets.filter { _ in Self.happens(97) }
        _ = try await messages.count(.accepted, at: accepted.map(\.installation), for: message.number, of: app.number)
        var reports: [ReceiptReport] = []
        for target in accepted where Self.happens(92) {
            // Most phones are on, and people look at them within hours.
            let delivered = sentAt.advanced(by: Self.delay(minutes: 4))
            reports.append(.init(target, .delivered, of: message, at: delivered))
            guard Self.happens(35) else { continue }
            let seen = delivered.advanced(by: Self.delay(minutes: 150))
            reports.append(.init(target, Self.happens(60) ? .opened : .dismissed, of: message, at: seen))
        }
        let now = Timestamp.now()
        _ = try await messages.count(reports.filter { $0.at.map { $0 < now } ?? false }, of: app.number)
    }

    private func choose(_ items: [AudiencePage.Item], of app: App) async throws {
        for (index, item) in items.enumerated() {
            guard let userID = item.userID.flatMap({ try? UserID($0) }) else { continue }
            let changes = app.topics.topics.compactMap { topic -> TopicChange? in
                switch topic.slug.rawValue {
                case "offers": index.isMultiple(of: Self.leavesOffers) ? TopicChange(topic, false) : nil
                case "news": index.isMultiple(of: Self.wantsNews) ? TopicChange(topic, true) : nil
                default: nil
                }
            }
            guard !changes.isEmpty else { continue }
            let patch = TopicsPatch(changes, of: app, credential: nil, actor: "job:demo")
            _ = try await topics.apply(patch, to: userID, in: app.number)
        }
    }

    private static func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100) < percent }

    /// Exponentially distributed, roughly: the product of two even ones.
    private static func delay(minutes: Double) -> ISO8601Duration {
        let even = Double.random(in: 0...1) * Double.random(in: 0...1)
        return ISO8601Duration(seconds: Int64(even * minutes * 4 * 60))
    }
}

extension ReceiptReport {
    fileprivate init(_ target: MessageTarget, _ event: MessageEvents, of message: Message, at time: Timestamp) {
        self.init(message: message.number, installation: target.installation, cell: target.cell, event: event, at: time)
    }
}
