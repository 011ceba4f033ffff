import PostgresClient
import PushRegistry

extension PostgresFeedbackStore {
    /// Events that one transaction reads, and the most installations that it changes.
    private static let repairedMax: Int64 = 2_000
    /// The time of an event and its position are of different moments of its transaction.
    private static let slack = ISO8601Duration.hours(1)

    /// Reads the app's events from the newest one back, and changes the installations that are as an event has left
    /// them, page by page. If the call is repeated, it continues: what is changed has other events.
    public func repair(_ repair: FeedbackRepair) async throws -> Int {
        try await resources.storing(repair.app) {
            guard let breaker = try await extent(of: repair) else { return 0 }
            var (count, next) = (0, Optional((position: Int64.max, id: Int64.max)))
            while let cursor = next {
                let page = try await resources.lone.withTurn(of: repair.app) {
                    try await repairPage(repair, before: cursor, since: breaker.since)
                }
                count += page.count
                next = page.next
            }
            if !repair.isDryRun, let last = breaker.lastHeldAt {
                _ = try await resources.postgres.execute(
                    PostgresStatement(
                        FeedbackBreakerStatements.close, repair.app.rawValue, repair.provider.rawValue, "",
                        last.postgres))
            }
            return count
        }
    }

    /// How far back the events are read, and when a verdict was held last, if the decision is about all that are held.
    /// Nil if nothing is held that could be released.
    private func extent(of repair: FeedbackRepair) async throws -> (since: Timestamp, lastHeldAt: Timestamp?)? {
        let rows = try await resources.postgres.read(
            PostgresStatement(FeedbackBreakerStatements.read, repair.app.rawValue))
        let row = try rows.map(BreakerRow.init).first { $0.key == FeedbackHour.Key(repair.provider) }
        guard case .restore(let since) = repair.decision else {
            return row.flatMap { row in row.heldSince.map { ($0, row.stored.lastHeldAt) } }
        }
        return (since, row?.heldSince.flatMap { since <= $0 ? row?.stored.lastHeldAt : nil })
    }

    private typealias Cursor = (position: Int64, id: Int64)

    private func repairPage(
        _ repair: FeedbackRepair, before cursor: Cursor, since: Timestamp
    ) async throws -> (count: Int, next: Cursor?) {
        let events = try await resources.postgres.read(
            PostgresStatement(
                EventStatements.newest, repair.app.rawValue, cursor.position, cursor.id, Self.repairedMax)
        ).map(RecordedEvent.init)
        // The newest event of each installation decides: only its generation can be the present one.
        var generations: [String: Int64] = [:]
        for event in events where repair.concerns(event) {
            guard let installID = event.installID, generations[installID] == nil else { continue }
            generations[installID] = event.generationAfter
        }
        let isLast =
            events.count < Int(Self.repairedMax) || events.allSatisfy { $0.at < since.preceding(by: Self.slack) }
        let next = isLast ? nil : events.last.map { (position: $0.cursor.position, id: $0.cursor.id) }
        return (generations.isEmpty ? 0 : try await change(generations, by: repair), next)
    }

    /// - Parameter generations: of the installations after the events.
    private func change(_ generations: [String: Int64], by repair: FeedbackRepair) async throws -> Int {
        try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let setUp = LockTimeoutStatements.of(.alone)
            let ids = Array(generations.keys)
            let results = try await transaction.execute(
                setUp + [
                    PostgresStatement(InstallationStatements.lock, repair.app.rawValue, ids),
                    PostgresStatement(RegistrationStatements.now),
                ])
            let moment = try Moment(results[setUp.count + 1])
            var changes = ChangeSet(in: repair.app, at: moment.time)
            for row in results[setUp.count] {
                let before = try InstallationColumns.decode(row)
                guard let generation = generations[before.installation.key.installID.rawValue],
                    let outcome = repair.outcome(for: before.installation, after: generation, at: moment.time)
                else { continue }
                changes.change(before, to: outcome.after)
                changes.record([outcome.event])
            }
            guard !repair.isDryRun else { return changes.events.count }
            try await transaction.commit(changes, at: moment)
            return changes.events.count
        }
    }
}
