import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("An installation counts once for each event of a message (fine print 71)")
struct ReceiptCountTests {
    private static let now = Timestamp.now()

    private func report(
        _ event: MessageEvents, _ message: Message, at installation: Int64 = 1, cell: Int64 = 1
    ) -> ReceiptReport {
        ReceiptReport(
            message: message.number, installation: InstallationHash(installation), cell: cell, event: event,
            at: Self.now)
    }

    /// Several stores, as the event loops of a service have them.
    private func withStores(
        _ count: Int = 2, _ body: @escaping @Sendable (TestStores, [PostgresMessageStore]) async throws -> Void
    ) async throws {
        try await TestStores.with { stores in
            let messages = (0..<count).map { _ in
                PostgresMessageStore(LoopResources(postgres: stores.postgres))
            }
            try await withThrowingDiscardingTaskGroup { group in
                for store in messages { group.addTask(executorPreference: stores.postgres.loop) { await store.run() } }
                try await body(stores, messages)
                group.cancelAll()
            }
            let report = try await RegistryVerifier(stores.configuration).verify()
            #expect(report.findings.filter { $0.broken > 0 }.map(\.invariant.name) == [])
        }
    }

    private func message(
        _ store: PostgresMessageStore, _ name: String = "m", isRecorded: Bool = false, at time: Timestamp = now,
        in stores: TestStores
    ) async throws -> Message {
        try await store.put(
            try MessageName(name), MessageContent(isRecorded: isRecorded), in: stores.app.number, at: time
        ).message
    }

    /// Two calls that report the same rows do not wait for one another.
    @Test func rows_areInTheOrderOfTheirKeys() {
        let reports = [3, -2, 0].map { installation in
            ReceiptReport(
                message: MessageNumber(1), installation: InstallationHash(installation), cell: 1, event: .delivered,
                at: Self.now)
        }
        #expect(ReceiptBatch([Array(reports[..<2]), [reports[2]]]).rows.map(\.installation.rawValue) == [-2, 0, 3])
    }

    @Test func implied_countsOnce_whenOpenedAndDeliveredRace() async throws {
        try await withStores { stores, messages in
            let app = stores.app.number
            let message = try await message(messages[0], in: stores)
            let events: [MessageEvents] = [.opened, .delivered, .dismissed, .delivered]
            var firsts: [MessageEvents: Int] = [:]
            for round in 0..<40 {
                let results = try await withThrowingTaskGroup(of: (MessageEvents, Bool).self) { group in
                    for number in 0..<16 {
                        let event = events[number % 4]
                        let report = report(event, message, at: Int64(round))
                        group.addTask {
                            (event, try await messages[number / 4 % messages.count].count([report], of: app)[0])
                        }
                    }
                    return try await group.reduce(into: [(MessageEvents, Bool)]()) { $0.append($1) }
                }
                for (event, isFirst) in results where isFirst { firsts[event, default: 0] += 1 }
            }
            let counts = try await messages[0].counts(of: message.number, in: app).counts
            #expect([counts.delivered, counts.opened, counts.dismissed] == [40, 40, 40])
            #expect(firsts[.opened] == 40 && firsts[.dismissed] == 40)
            #expect(firsts[.delivered, default: 0] <= 40)
        }
    }

    @Test func sums_areTheSame_beforeAndAfterFolding() async throws {
        try await withStores(1) { stores, messages in
            let (app, store) = (stores.app.number, messages[0])
            let message = try await message(store, in: stores)
            try await store.count([1: 5, 2: 7], for: message.number, of: app)
            for number in 0..<30 {
                _ = try await store.count(
                    [report(.opened, message, at: Int64(number), cell: Int64(number % 2 + 1))], of: app)
            }
            // More than was targeted in the first cell: an installation that reports was targeted.
            let before = try await store.counts(of: message.number, in: app).counts
            #expect([before.targeted, before.delivered, before.opened] == [30, 30, 30])
            let folder = MessageFolder(postgres: stores.postgres)
            try await atOnce(0..<4) { _ in try await folder.fold() }
            #expect(try await stores.sql("SELECT count(*) FROM message_delta")[0].decode(0, as: Int.self) == 0)
            #expect(try await store.counts(of: message.number, in: app).counts == before)
            let buckets = try TimelineBuckets(of: message, every: .hours(1), now: .now())
            let timeline = try await store.timeline(of: message.number, in: buckets, in: app).counts
            #expect(timeline.reduce(0) { $0 + $1.opened } == 30)
        }
    }

    @Test(arguments: [false, true]) func sums_areFolded_behindAnAppWhoseFoldFails(atNight isNight: Bool) async throws {
        try await TestStores.with { stores in
            try await stores.fail(changesOf: "message_sum", when: "NEW.app_id = 1")
            let behind = try await stores.appBehind()
            _ = try await stores.sql(
                """
                INSERT INTO message_delta
                    (app_id, message, cell, targeted, accepted, failed, delivered, opened, dismissed)
                SELECT a, 1, 1, 1, 0, 0, 0, 0, 0 FROM unnest(ARRAY[1, \(behind)]) AS a
                """)
            if isNight {
                await #expect(throws: PostgresError.self) {
                    try await PostgresSession.withSession(stores.configuration) { try MessageFolder.foldAll(in: $0) }
                }
            } else {
                try await MessageFolder(postgres: stores.postgres).fold()
            }
            let waiting: [Int32] = try await stores.sql("SELECT app_id FROM message_delta").map { try $0.decode(0) }
            #expect(waiting == [1])
        }
    }

    @Test func number_isFree_whenMessagesAreCreatedAtOnce() async throws {
        try await withStores { stores, messages in
            let created = try await withThrowingTaskGroup(of: Message.self) { group in
                for number in 0..<32 {
                    group.addTask { try await self.message(messages[number % 2], "m-\(number % 16)", in: stores) }
                }
                return try await group.reduce(into: [Message]()) { $0.append($1) }
            }
            #expect(Set(created.map(\.number)).count == 16)
            #expect(try await messages[0].messages(of: stores.app.number, before: nil, limit: 100).count == 16)
        }
    }
}
