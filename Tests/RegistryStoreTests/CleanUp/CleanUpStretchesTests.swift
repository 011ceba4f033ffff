import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("What is due is cut into stretches of the table, for a batch each")
struct CleanUpStretchesTests {
    private func stretches(
        _ found: [(Int64, Int32, Int)], batch: Int = 1_000, without refused: Set<AppNumber> = []
    ) -> [String] {
        var stretches = CleanUpStretches()
        for (block, app, count) in found { stretches.add(count, of: AppNumber(app), in: block) }
        stretches.remove(refused)
        var texts: [String] = []
        while let stretch = stretches.next(of: batch) { texts.append("\(stretch.pages.range): \(stretch.count)") }
        return texts
    }

    @Test func neighbours_areTogether_asLongAsTheyFitIntoABatch() {
        #expect(stretches([(0, 1, 400), (1, 1, 600), (2, 1, 1)]) == ["0..<128: 1000", "128..<192: 1"])
    }

    @Test func pagesWithoutAnything_areLeftOutAtBothEnds_andSpannedBetween() {
        #expect(stretches([(10, 1, 1), (20, 1, 1)]) == ["640..<1344: 2"])
    }

    @Test func stretch_ends_whenItWouldHaveToReadTooMuch() {
        #expect(stretches([(0, 1, 1), (63, 1, 1), (64, 1, 1)]) == ["0..<4096: 2", "4096..<4160: 1"])
    }

    @Test func block_isOneStretch_howeverMuchIsInIt() {
        #expect(stretches([(5, 1, 900), (5, 2, 900), (6, 1, 1)]) == ["320..<384: 1800", "384..<448: 1"])
    }

    @Test func stretch_isAsLargeAsTheBatchOfTheMoment() {
        var stretches = CleanUpStretches()
        for block in 0..<6 { stretches.add(50, of: AppNumber(1), in: Int64(block)) }
        #expect([50, 150, 1_000].map { stretches.next(of: $0)?.count } == [50, 150, 100])
        #expect(stretches.next(of: 50) == nil && stretches.count == 300)
    }

    @Test func refusedApps_areNotGoneTo() {
        #expect(stretches([(0, 1, 5), (0, 2, 7), (9, 1, 5)], without: [AppNumber(1)]) == ["0..<64: 7"])
        #expect(stretches([(0, 1, 5)], without: [AppNumber(1)]).isEmpty)
    }
}

@Suite("The night job rests the longer, the busier the database is")
struct CleanUpPaceTests {
    @Test func job_hurries_whenNobodyElseWorks() {
        #expect(CleanUpPace.rest(after: .milliseconds(100), beside: 0) == .zero)
        #expect(CleanUpPace.batch(beside: 0) > CleanUpPace.batch(beside: 1))
    }

    @Test func rest_isAsLongAsTheBatch_forEachSessionAtWork_upToALimit() {
        #expect(CleanUpPace.rest(after: .milliseconds(10), beside: 1) == .milliseconds(10))
        #expect(CleanUpPace.rest(after: .milliseconds(10), beside: 50) == .milliseconds(30))
        #expect(CleanUpPace.rest(after: .seconds(60), beside: 1) == .seconds(2))
    }

    @Test func otherSessions_areSeen_whileTheyWork() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: "aaaaaaaaaaaaaaaa")
            let batches = try await stores.postgres.withTransaction { transaction in
                _ = try await transaction.execute(["SELECT FROM installation FOR UPDATE"])
                let calm = try await Self.batch(in: stores)
                // It waits, and is at work for as long.
                async let registered = stores.register("phone", token: "bbbbbbbbbbbbbbbb")
                try await eventually { try await Self.batch(in: stores) < calm }
                try await transaction.commit()
                _ = try await registered
                return calm
            }
            #expect(batches == CleanUpPace.batch(beside: 0))
        }
    }

    private static func batch(in stores: TestStores) async throws -> Int {
        try await PostgresSession.withSession(stores.configuration) { try CleanUpPace($0).batch }
    }
}
