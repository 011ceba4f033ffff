import Basics
import EventLoop
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite(
    "The roll-up is exact at every moment, also while others write and fold (R13)", .timeLimit(.minutes(30)), .stores)
struct RollUpConcurrencyTests {
    private let stores = TestStores.lent!

    @Test func everyRead_equalsARecount_whileManyWriteAndFold() async throws {
        let seed = TestSeed.make(for: "RollUpConcurrencyTests")
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
        #expect(try await stores.count("SELECT count(*) FROM token_event WHERE event = 'tokenMoved'") > 0)
        try await stores.expectExact()
        try await stores.fold()
        try await stores.expectExact()
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    @Test func nothingIsLostOrCountedTwice_whenTheFolderIsKilled() async throws {
        try await stores.fold()
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        try await stores.register("b", token: "aaaaaaaaaaaaaaab")
        let pending = try await stores.waitingDeltas()
        try? await stores.postgres.withTransaction { transaction in
            var units = 0
            _ = try await RollUpFold.steps(stores.app.number, batch: 1_000).run { unit in
                units += 1
                guard units == 4 else { return try await transaction.execute(unit) }
                _ = try? await transaction.execute(["SELECT pg_terminate_backend(pg_backend_pid())"])
                throw CancellationError()
            }
        }
        #expect(try await stores.waitingDeltas() == pending)
        try await stores.expectExact()
        #expect(try await stores.fold()?.deltas == Int(pending))
        #expect(try await stores.fold()?.deltas == 0)
        try await stores.expectExact()
    }

    @Test func secondFolder_leavesAtOnce_whileTheFirstFolds() async throws {
        try await stores.fold()
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        try await stores.postgres.withTransaction { transaction in
            let steps = RollUpFold.steps(stores.app.number, batch: 1_000)
            #expect(try await steps.run { try await transaction.execute($0) }?.deltas == 1)
            #expect(try await stores.fold(1_000) == nil)
            try await stores.expectExact()
        }
        #expect(try await stores.fold()?.deltas == 0)
    }

    @Test func snapshot_staysExact_whateverIsFoldedAfterIt() async throws {
        for number in 10..<20 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await stores.postgres.withTransaction(.snapshot) { transaction in
            let cached = stores.cubes.cube(of: stores.app.number)
            let opened = try await transaction.execute(AudienceMoment.reads(of: stores.app.number))
            try await stores.fold(3)
            try await stores.change("DELETE FROM installation WHERE install_id < 'i15'")
            try await stores.fold()
            _ = try await stores.sql("VACUUM rollup_delta")
            // Another query follows the changes, which this snapshot does not have.
            try await stores.expectExact()
            var reading = try CubeReading(
                of: stores.app.number, [0], cached: cached, at: AudienceMoment(opened))
            try reading.read(try await transaction.execute(reading.statements)[...])
            if let texts = reading.texts { try reading.read(texts: try await transaction.execute(texts)) }
            #expect(reading.view.counts(0, .all).reduce(0, +) == 10)
            // A late answer does not replace the newer cube.
            stores.cubes.store(reading.advanced, of: stores.app.number, replacing: cached)
        }
        try await stores.expectExact()
    }

    /// A cube that is in the cache has later transactions than an older snapshot: it is not for that snapshot.
    @Test func newerCube_isNotUsed_forAnOlderSnapshot() async throws {
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        try await stores.postgres.withTransaction(.snapshot) { transaction in
            let opened = try await transaction.execute(AudienceMoment.reads(of: stores.app.number))
            try await stores.register("b", token: "aaaaaaaaaaaaaaab")
            try await eventually {
                try await stores.expectExact()
                return try stores.cubes.cube(of: stores.app.number).map(\.since) ?? 0
                    > AudienceMoment(opened).firstRunning
            }
            var reading = try CubeReading(
                of: stores.app.number, [0], cached: stores.cubes.cube(of: stores.app.number),
                at: AudienceMoment(opened))
            try reading.read(try await transaction.execute(reading.statements)[...])
            #expect(reading.view.counts(0, .all).reduce(0, +) == 1)
        }
    }

    /// Small batches, so that steps end within transactions. Deltas are deleted soon, so that some cubes are read anew.
    private func foldAndPrepare(_ stores: TestStores) async throws {
        var round = 0
        while !Task.isCancelled {
            try await stores.fold(7)
            round += 1
            if round % 3 == 0 { try await stores.passMark() }
            if round % 10 == 0 { try await RollUpFolder(LoopResources(postgres: stores.postgres)).prepare() }
        }
    }

    /// Three processes: one that lives long, one whose memory has room for no cube, and one that restarts.
    private func read(_ stores: TestStores, seed: UInt64, times: Int) async throws {
        var dice = SeededGenerator(seed: seed)
        var restarting = CubeCache()
        let small = CubeCache(bytesMax: 1_000)
        for _ in 0..<times {
            if dice.isTrue(0.1) { restarting = CubeCache() }
            let after = Duration.milliseconds(dice.below(2_000))
            try await stores.expectExact(after: after, dice.element(of: [stores.cubes, small, restarting]))
        }
        #expect(small.bytes == 0)
    }
}
