import PostgresClient
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

    /// - Parameter row: of `ImportStatements.preview`.
    init(_ row: PostgresRow) throws {
        guard let provider = Provider(rawValue: try row.decode(0)) else { throw StoreError.failed("unknown provider") }
        let count: Int = try row.decode(4)
        if count > 0 { reachable[provider] = count }
        retiredNextRun = try row.decode(5)
        withoutTimeZone = try row.decode(6)
        withoutUser = try row.decode(7)
    }

    /// - Parameter rows: of `ImportStatements.previewTopics`.
    mutating func add(topics rows: [PostgresRow]) throws {
        for row in rows { topics[TopicNumber(try row.decode(0)), default: 0] += try row.decode(1, as: Int.self) }
    }

    static func += (left: inout ImportForecast, right: ImportForecast) {
        left.reachable.merge(right.reachable, uniquingKeysWith: +)
        left.retiredNextRun += right.retiredNextRun
        left.withoutTimeZone += right.withoutTimeZone
        left.withoutUser += right.withoutUser
        left.topics.merge(right.topics, uniquingKeysWith: +)
    }
}
