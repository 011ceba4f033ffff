import PostgresClient
import PushRegistry

extension PostgresFeedbackStore {
    /// Events that one transaction reads, and the most installations that it changes.
    private static let repairedMax: Int64 = 2_000
    /// The time of an event and its position are of different moments of its transaction.
    private static let slack = ISO8601Duration.hours(1)

    /// Settles held typed tokens, then installations: these end their sets.
    public func repair(_ repair: FeedbackRepair) async throws -> Int {
        try await resources.storing(repair.app) {
            let rows = try await resources.postgres.read(FeedbackBreakerStatements.read(repair.app.rawValue))
            let breakers = try rows.map(BreakerRow.init).filter { $0.key.provider == repair.provider }
            var repair = repair
            let count = try await repairTokens(&repair) + repairInstallations(&repair, breakers)
            guard !repair.isDryRun else { return count }
            for breaker in breakers {
                guard let heldSince = breaker.heldSince, repair.includes(heldSince) else { continue }
                let close = FeedbackBreakerStatements.close(
                    repair.app.rawValue, repair.provider.rawValue, breaker.key.kind,
                    breaker.stored.lastHeldAt?.postgres)
                let isClosed = try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) {
                    [repair] transaction in
                    let isClosed = try await transaction.execute([close], .alone)[0].affectedRows > 0
                    try await transaction.commit(after: record(repair, if: isClosed))
                    return isClosed
                }
                if isClosed { repair.entry = nil }
            }
            return count
        }
    }

    private func record(_ repair: FeedbackRepair, if changesSomething: Bool) -> [PostgresStatement] {
        guard changesSomething, let entry = repair.entry else { return [] }
        return [AuditStatements.add(entry, of: repair.app)]
    }

    // MARK: Typed tokens

    /// Reads the installations with held tokens, page by page. A dry run counts in one statement: the console asks
    /// whenever it shows the page.
    private func repairTokens(_ repair: inout FeedbackRepair) async throws -> Int {
        guard !repair.isDryRun else {
            return try await resources.lone.withTurn(of: repair.app) { [repair] in
                try await resources.postgres.read(
                    FeedbackBreakerStatements.countHeld(
                        repair.app.rawValue, repair.provider.rawValue, repair.since?.postgres))[0].decode(0)
            }
        }
        var (count, next) = (0, Optional(""))
        while let last = next {
            let page = try await resources.lone.withTurn(of: repair.app) { [repair] in
                try await repairTokens(repair, after: last)
            }
            if !page.counts.isEmpty { repair.entry = nil }
            count += page.counts.values.reduce(0, +)
            next = page.next
            if repair.decision == .release { EventMeters.count(removed: page.counts) }
        }
        return count
    }

    private func repairTokens(
        _ repair: FeedbackRepair, after last: String
    ) async throws -> (counts: [TokenKind: Int], next: String?) {
        try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let list = FeedbackBreakerStatements.holdersOfHeld(
                repair.app.rawValue, repair.provider.rawValue, last, Self.repairedMax)
            let ids = try await transaction.execute([list], .alone)[0].map { try $0.decode(0, as: String.self) }
            guard let end = ids.last else { return ([:], nil) }
            let results = try await transaction.execute([
                InstallationStatements.lock(repair.app.rawValue, ids),
                RegistrationStatements.now(),
                TypedTokenStatements.sets(of: try ids.map { try InstallID($0) }, in: repair.app),
            ])
            let moment = try Moment(results[1])
            var tokens = try TypedTokenStatements.locked(results[2], in: repair.app, at: moment.time)
            let counts = tokens.apply(repair)
            var changes = ChangeSet(in: repair.app, at: moment.time)
            for row in results[0] {
                let stored = try InstallationColumns.decode(row)
                guard tokens.disturbed.contains(stored.installation.key) else { continue }
                changes.change(stored, to: stored.installation, changingTokens: true)
            }
            changes.write(tokens.changes)
            try await transaction.commit(changes, at: moment, after: record(repair, if: !counts.isEmpty))
            return (counts, ids.count < Int(Self.repairedMax) ? nil : end)
        }
    }

    // MARK: Installations

    /// Reads the app's events from the newest one back, and changes the installations that are as an event has left
    /// them, page by page. If the call is repeated, it continues: what is changed has other events.
    private func repairInstallations(_ repair: inout FeedbackRepair, _ breakers: [BreakerRow]) async throws -> Int {
        let held = breakers.first { $0.key.kind.isEmpty }?.heldSince
        guard let since = repair.since ?? held else { return 0 }
        var (count, next) = (0, Optional((position: Int64.max, id: Int64.max)))
        while let cursor = next {
            let page = try await resources.lone.withTurn(of: repair.app) { [repair] in
                try await repairPage(repair, before: cursor, since: since)
            }
            if page.count > 0 { repair.entry = nil }
            count += page.count
            next = page.next
        }
        return count
    }

    private typealias Cursor = (position: Int64, id: Int64)

    private func repairPage(
        _ repair: FeedbackRepair, before cursor: Cursor, since: Timestamp
    ) async throws -> (count: Int, next: Cursor?) {
        let events = try await resources.postgres.read(
            EventStatements.newest(repair.app.rawValue, cursor.position, cursor.id, Self.repairedMax)
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

    /// A dry run only counts the installations, and locks nothing.
    ///
    /// - Parameter generations: of the installations after the events.
    private func change(_ generations: [String: Int64], by repair: FeedbackRepair) async throws -> Int {
        guard !repair.isDryRun else {
            return try await resources.postgres.read(
                FeedbackBreakerStatements.countUnchanged(
                    repair.app.rawValue, repair.provider.rawValue, Array(generations.keys),
                    Array(generations.values)))[0].decode(0)
        }
        return try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let (ids, numbers) = (Array(generations.keys), Array(generations.values))
            let lock = InstallationStatements.lock(repair.app.rawValue, ids)
            let kept = FeedbackBreakerStatements.keptAnonymous(repair.app.rawValue, ids, numbers)
            let results = try await transaction.execute([lock, RegistrationStatements.now(), kept], .alone)
            let moment = try Moment(results[1])
            let anonymous = Set(try results[2].map { try $0.decode(0, as: String.self) })
            var changes = ChangeSet(in: repair.app, at: moment.time)
            for row in results[0] {
                let before = try InstallationColumns.decode(row)
                let id = before.installation.key.installID.rawValue
                guard let generation = generations[id],
                    let outcome = repair.outcome(
                        for: before.installation, after: generation, isKeptAnonymous: anonymous.contains(id),
                        at: moment.time)
                else { continue }
                changes.change(before, to: outcome.after)
                changes.record([outcome.event])
            }
            try await transaction.commit(changes, at: moment, after: record(repair, if: !changes.events.isEmpty))
            return changes.events.count
        }
    }
}
