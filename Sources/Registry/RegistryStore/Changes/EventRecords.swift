import PostgresClient
import PushRegistry

/// The events that a transaction writes (R12).
package struct EventRecords: Sendable {
    let app: AppNumber
    let position: Int64
    let events: [TokenEvent]
    let topicsEvents: [TopicsEvent]

    init(
        _ events: [TokenEvent] = [], _ topicsEvents: [TopicsEvent] = [], in app: AppNumber, at position: Int64
    ) {
        (self.events, self.topicsEvents) = (events, topicsEvents)
        (self.app, self.position) = (app, position)
    }

    var count: Int { events.count + topicsEvents.count }

    /// - Parameter ids: of all events, on Citus; nil: PostgreSQL draws them.
    package func statements(ids: [Int64]? = nil) -> [PostgresStatement] {
        let (first, last) = (ids.map { Array($0.prefix(events.count)) }, ids.map { Array($0.dropFirst(events.count)) })
        return [
            events.isEmpty ? nil : EventStatements.append(events, in: app, at: position, ids: first),
            topicsEvents.isEmpty ? nil : TopicsEventStatements.append(topicsEvents, in: app, at: position, ids: last),
        ].compactMap(\.self)
    }
}

extension PostgresTransaction {
    /// Sends `changes`, the events and `checks`, and commits. On Citus this takes one more trip if there are events:
    /// their ids are drawn after the changes.
    ///
    /// - Returns: the results of `changes`, and those of the others.
    /// - Throws: as `commit(after:)`.
    @discardableResult
    func commit(
        after changes: [PostgresStatement], recording records: EventRecords, then checks: [PostgresStatement] = []
    ) async throws -> [PostgresResult] {
        guard isDistributed, records.count > 0 else {
            return try await commit(after: changes + records.statements() + checks)
        }
        let draw = PostgresStatement(EventStatements.drawIDs, Int64(records.count))
        let results = try await execute(changes + [draw])
        let ids: [Int64] = try results[changes.count][0].decode(0)
        return results.dropLast() + (try await commit(after: records.statements(ids: ids) + checks))
    }
}
