import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore
import RegistryTestSupport
import Testing

@Suite(
    "The change feed misses nothing and repeats nothing, whatever order transactions commit in (fine print 27)",
    .stores)
struct ChangeFeedTests {
    private let stores = TestStores.lent!

    @Test func event_waits_untilEveryOlderTransactionHasEnded() async throws {
        try await stores.postgres.withTransaction { older in
            _ = try await older.execute(stores.append("older"))
            try await stores.postgres.withTransaction { newer in
                _ = try await newer.execute(stores.append("newer"))
            }
            #expect(try await stores.feed().isEmpty)
        }
        #expect(try await stores.feed().map(\.installID) == ["older", "newer"])
    }

    @Test func feed_goesOn_whenAnOlderTransactionIsRolledBack() async throws {
        try await stores.rollBack("never") {
            _ = try await stores.postgres.execute(stores.append("newer"))
        }
        #expect(try await stores.feed().map(\.installID) == ["newer"])
    }

    @Test func reader_getsEachEventOnce_whileEightWritersCommitInAnyOrder() async throws {
        let (writers, transactions) = (8, 30)
        async let writing: Void = atOnce(0..<writers) { writer in
            for number in 0..<transactions { try await stores.write("\(writer)-\(number)") }
        }
        let seen = try await stores.follow(until: writers * transactions)
        try await writing
        #expect(seen.count == Set(seen).count)
        let written = try await stores.sql("SELECT id FROM token_event").map { try $0.decode(0, as: Int64.self) }
        #expect(Set(seen) == Set(written))
    }

    @Test func page_endsAndGoesOn_withinOneTransaction() async throws {
        try await stores.postgres.withTransaction { transaction in
            _ = try await transaction.execute((1...25).map { stores.append("phone-\($0)") })
        }
        let seen = try await stores.follow(until: 25, limit: 7)
        #expect(seen == seen.sorted() && Set(seen).count == 25)
    }

    @Test func cursor_hasExpired_whenLaterEventsWereDropped_andOnlyThen() async throws {
        for name in ["a", "b", "c"] { _ = try await stores.sql(stores.append(name)) }
        let events = try await stores.feed()
        // The month of the first two events is dropped.
        _ = try await stores.sql(
            "INSERT INTO dropped_history SELECT app_id, position, id FROM token_event WHERE install_id = 'b'")
        _ = try await stores.sql("DELETE FROM token_event WHERE install_id IN ('a', 'b')")
        await #expect(throws: EventRefusal.cursorExpired) { try await stores.feed(after: events[0].cursor) }
        #expect(try await stores.feed(after: events[1].cursor).map(\.installID) == ["c"])
        #expect(try await stores.feed(after: events[2].cursor).isEmpty)
    }

    /// A restore brings events with the numbers of another database, and an epoch that is not this one's.
    @Test func restoredEvents_comeFirst_andOldCursorsHaveExpired() async throws {
        for number in 1...3 { _ = try await stores.sql(stores.append("restored-\(number)")) }
        let cursor = try #require(try await stores.feed().last?.cursor)
        _ = try await stores.sql("UPDATE token_event SET position = 9000000 - id")
        _ = try await stores.sql("UPDATE change_epoch SET identity = 'elsewhere'")
        #expect(try await RegistryVerifier(stores.configuration).verify().isIntact == false)
        await #expect(throws: EventRefusal.cursorExpired) { try await stores.feed(after: cursor) }
        _ = try await stores.sql(stores.append("new"))
        let names = try await stores.feed().map(\.installID)
        #expect(names == ["restored-1", "restored-2", "restored-3", "new"])
        #expect(try await RestoredEvents.adopt(stores.configuration) == false)
    }

    /// `pg_upgrade` keeps transaction ids, so all positions are below the new ones already.
    @Test func upgradedDatabase_beginsAnEpoch_withoutARewriteOfHistory() async throws {
        for name in ["a", "b"] { _ = try await stores.sql(stores.append(name)) }
        let cursor = try #require(try await stores.feed().first?.cursor)
        let rows: PostgresStatement = "SELECT string_agg(xmin || ' ' || position, ',' ORDER BY id) FROM token_event"
        let before = try await stores.sql(rows)[0].decode(0, as: String.self)
        _ = try await stores.sql("UPDATE change_epoch SET identity = 'elsewhere'")
        #expect(try await RestoredEvents.adopt(stores.configuration))
        #expect(try await stores.sql(rows)[0].decode(0, as: String.self) == before)
        await #expect(throws: EventRefusal.cursorExpired) { try await stores.feed(after: cursor) }
        _ = try await stores.sql(stores.append("c"))
        #expect(try await stores.feed().map(\.installID) == ["a", "b", "c"])
    }

    /// The primary was replaced by a standby that did not have its last transactions.
    @Test func cursor_hasExpired_whenItIsOfATransactionThatTheServerNeverHad() async throws {
        _ = try await stores.sql(stores.append("a"))
        let latest = try await stores.events.latestChange(of: stores.app.number)
        #expect(try await stores.feed(after: latest).isEmpty)
        let lost = EventCursor(
            epoch: latest.epoch, app: latest.app, position: latest.position + 1_000, id: latest.id)
        await #expect(throws: EventRefusal.cursorExpired) { try await stores.feed(after: lost) }
    }

    @Test func cursor_isRead_asItIsWritten() throws {
        let cursor = EventCursor(epoch: "0123456789abcdef", app: AppNumber(2), position: 3, id: 4)
        #expect(EventCursor(cursor.description) == cursor)
        for bad in [
            "", "x", "0123456789abcdef.2.3", "0123456789abcdef.2.3.-4", "0123456789ABCDEF.2.3.4",
            "0123456789abcdef.2.3.4.5",
        ] {
            #expect(EventCursor(bad) == nil)
        }
    }
}

extension TestStores {
    /// An event of an installation of this name.
    fileprivate func append(_ installID: String) -> PostgresStatement {
        """
        INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, state,
            generation_before, generation_after)
        VALUES (pg_current_xact_id()::text::bigint, now(), \(app.number.rawValue), \(installID), 'registered',
            'firstRegistration', 'test', 'apns', 'active', 0, 1)
        """
    }

    fileprivate func feed(after cursor: EventCursor? = nil, limit: Int = 100) async throws -> [RecordedEvent] {
        try await events.changes(of: app.number, after: cursor, limit: limit)
    }

    /// One transaction that takes its number, waits, and commits when others have or have not.
    fileprivate func write(_ name: String) async throws {
        try await postgres.withTransaction { transaction in
            _ = try await transaction.execute(append(name))
            try await Task.sleep(for: .microseconds(Int.random(in: 0...3_000)))
        }
    }

    /// A transaction that appends an event, lets `body` run and is rolled back.
    fileprivate func rollBack(_ installID: String, after body: () async throws -> Void) async throws {
        struct RolledBack: Error {}
        do {
            let _: Void = try await postgres.withTransaction { transaction in
                _ = try await transaction.execute(append(installID))
                try await body()
                throw RolledBack()
            }
        } catch is RolledBack {}
    }

    /// The numbers of the events in the order in which a reader gets them.
    fileprivate func follow(until count: Int, limit: Int = 5) async throws -> [Int64] {
        var seen: [RecordedEvent] = []
        let deadline = ContinuousClock.now + .seconds(60)
        while seen.count < count, ContinuousClock.now < deadline {
            seen += try await feed(after: seen.last?.cursor, limit: limit)
        }
        #expect(try await feed(after: seen.last?.cursor).isEmpty)
        return seen.map(\.cursor.id)
    }
}
