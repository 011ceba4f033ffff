import PushRegistry

/// Counts of the installations of an import as they would be right after it.
public struct ImportForecast: Hashable, Sendable {
    /// How many a push would reach.
    public var reachable: [Provider: Int] = [:]
    /// How many the next clean-up would retire, because nobody has seen them for too long.
    public var retiredNextRun = 0
    /// How many have neither a zone nor an offset.
    public var withoutTimeZone = 0
    public var withoutUser = 0
    /// How many choose each topic.
    public var topics: [TopicNumber: Int] = [:]

    public init() {}

    init(_ rows: [ImportedRow], _ bounds: CleanUpBounds) {
        for row in rows.lazy.map(\.installation) {
            let provider = row.token.provider
            let reachability = Reachability(
                state: .active, sessionExpiresAt: row.session?.expiresAt, settings: row.snapshot.settings,
                provider: provider)
            if reachability.obstacles(at: bounds.asOf).isEmpty { reachable[provider, default: 0] += 1 }
            if row.lastSeenAt ?? bounds.asOf <= bounds.unseenSince(provider) { retiredNextRun += 1 }
            if row.snapshot.device.timeZoneOffset == Device.noTimeZoneOffset { withoutTimeZone += 1 }
            if row.userID == nil { withoutUser += 1 }
            for code in row.topicChoices.codes where code > 0 { topics[TopicNumber(code), default: 0] += 1 }
        }
    }

    static func += (left: inout ImportForecast, right: ImportForecast) {
        left.reachable.merge(right.reachable, uniquingKeysWith: +)
        left.retiredNextRun += right.retiredNextRun
        left.withoutTimeZone += right.withoutTimeZone
        left.withoutUser += right.withoutUser
        left.topics.merge(right.topics, uniquingKeysWith: +)
    }
}
