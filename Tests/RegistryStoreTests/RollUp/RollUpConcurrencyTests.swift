import EventLoop
import PostgresClient
import PushRegistry
import RegistryTestSupport
import SeededRandom
import Testing

@testable import RegistryStore

@Suite("The roll-up is exact at every moment, also while others write and fold (R13)", .timeLimit(.minutes(30)))
struct RollUpConcurrencyTests {
    @Test func everyRead_equalsARecount_whileManyWriteAndFold() async throws {
        let seed = TestSeed.make(for: "RollUpConcurrencyTests")
        try await TestStores.with { stores in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    group.addTask { await RollUpWriter.write(stores, seed: seed &+ UInt64(number), steps: 120) }
                }
                let background = Task { try await foldAndPrepare(stores) }
                for number in 0..<2 {
                    group.addTask { try await read(stores, seed: seed &+ UInt64(100 + number), times: 60) }
                }
                try await group.waitForAll()
                background.cancel()
                _ = await background.result
            }
            #expect(try await stores.count("SELECT count(*) FROM token_event") > 200)
            try await stores.expectExact()
            try await stores.fold()
            try await stores.expectExact()
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test func nothingIsLostOrCountedTwice_whenTheFolderIsKilled() async throws {
        try await TestStores.with { stores in
            try await stores.fold()
            try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
            try await stores.register("b", token: "aaaaaaaaaaaaaaab")
            let pending = try await stores.count("SELECT count(*) FROM rollup_delta")
            try? await stores.postgres.withTransaction { transaction in
                var fold = RollUpFold(stores.app.number, batch: 1_000)
                let folding = try #require(try fold.next(try await transaction.execute(fold.first)))
                _ = try fold.next(try await transaction.execute(folding))
                _ = try? await transaction.execute(["SELECT pg_terminate_backend(pg_backend_pid())"])
                throw CancellationError()
            }
            #expect(try await stores.count("SELECT count(*) FROM rollup_delta") == pending)
            try await stores.expectExact()
            #expect(try await stores.fold()?.deltas == Int(pending))
            #expect(try await stores.fold()?.deltas == 0)
            try await stores.expectExact()
        }
    }

    @Test func secondFolder_leavesAtOnce_whileTheFirstFolds() async throws {
        try await TestStores.with { stores in
            try await stores.fold()
            try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
            try await stores.postgres.withTransaction { transaction in
                var fold = RollUpFold(stores.app.number, batch: 1_000)
                var unit: [PostgresStatement]? = fold.first
                while let statements = unit { unit = try fold.next(try await transaction.execute(statements)) }
                #expect(fold.outcome?.deltas == 1)
                #expect(try await stores.fold() == nil)
                try await stores.expectExact()
            }
            #expect(try await stores.fold()?.deltas == 0)
        }
    }

    @Test func snapshot_staysExact_whateverIsFoldedAfterIt() async throws {
        try await TestStores.with { stores in
            for number in 10..<20 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            try await stores.postgres.withTransaction(.snapshot) { transaction in
                let before: Int64 = try await transaction.execute([total(stores)])[0][0].decode(0)
                try await stores.fold(3)
                try await stores.change("DELETE FROM installation WHERE install_id < 'i15'")
                try await stores.fold()
                _ = try await stores.sql("VACUUM rollup_delta")
                #expect(try await transaction.execute([total(stores)])[0][0].decode(0) == before && before == 10)
            }
            try await stores.expectExact()
        }
    }

    private func total(_ stores: TestStores) -> PostgresStatement {
        let rollUp = RollUp(
            of: stores.app.number, scope: .all, asOf: PostgresTimestamp(microsecondsSince1970: 0))
        return PostgresStatement("SELECT sum(count)::bigint FROM \(sql: rollUp.relation(by: [])) AS r").unprepared()
    }

    /// Small batches, so that steps end within transactions.
    private func foldAndPrepare(_ stores: TestStores) async throws {
        while !Task.isCancelled {
            try await stores.fold(7)
            try await RollUpPreparation(postgres: stores.postgres).run()
        }
    }

    private func read(_ stores: TestStores, seed: UInt64, times: Int) async throws {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<times {
            let after = Duration.milliseconds(dice.below(2_000))
            try await stores.expectExact([dice.element(of: RollUpRecount.all)], after: after)
        }
    }
}
