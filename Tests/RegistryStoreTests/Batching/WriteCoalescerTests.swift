import Basics
import EventLoop
import Logging
import PushRegistry
import RegistryTestSupport
import Testing

@testable import PostgresClient
@testable import RegistryStore

@Suite("Writes share batches, and a batch with a blocked write is repeated in parts", .timeLimit(.minutes(5)))
struct WriteCoalescerTests {
    private struct Write: BatchedWrite {
        typealias Outcome = Int

        let app = AppNumber(1)
        let key: Int
    }

    /// What was tried.
    private final class Attempts: Sendable {
        let sizes = Locked<[Int]>([])
        /// The times between the end of a batch and the beginning of the next.
        let pauses = Locked<[Duration]>([])
        let end = Locked<ContinuousClock.Instant?>(nil)
        /// Batches under way.
        let running = Locked((now: 0, peak: 0))

        func began() {
            guard let end = end.withLock(\.self) else { return }
            pauses.withLock { $0.append(end.duration(to: .now)) }
        }

        func ended() { end.withLock { $0 = .now } }
    }

    /// - Parameters:
    ///   - repetitions: how often each client writes its key, as soon as it has its outcome.
    ///   - isDistributed: as on Citus.
    ///   - body: writes a batch.
    private func writeTogether(
        _ keys: some Sequence<Int>, repetitions: Int = 1, isDistributed: Bool = false,
        _ body: @escaping WriteCoalescer<Write>.Body
    ) async throws -> [Int] {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let pool = PostgresClient(
            try PostgresConfiguration("host=unused"), on: loop, limits: .init(), logger: Logger(label: "test"))
        let coalescer = WriteCoalescer<Write>(
            LoopResources(postgres: pool, isDistributed: isDistributed), meters: WriteMeters("test"), body: body)
        // On the loop from the start: beside other tests, it may take long to get a thread, and writes expire.
        return try await withTaskExecutorPreference(loop) {
            // Ends with this scope.
            async let _ = coalescer.run()
            return try await withThrowingTaskGroup(of: Int.self) { group in
                for key in keys {
                    group.addTask {
                        for _ in 1..<repetitions { _ = try await coalescer.write(Write(key: key)) }
                        return try await coalescer.write(Write(key: key))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
    }

    /// Enough writes for two full batches and a third one. Each batch waits for the others.
    @Test func appThatWritesAlone_hasThreeTransactions_onCitus() async throws {
        let attempts = Attempts()
        let count = 2 * WriteCoalescer<Write>.batchMax + WriteCoalescer<Write>.overlapItemsMin
        let written = try await writeTogether(0..<count, isDistributed: true) { batch, _ in
            attempts.running.withLock { $0 = ($0.now + 1, max($0.peak, $0.now + 1)) }
            try await eventually { attempts.running.withLock(\.peak) >= 3 }
            attempts.running.withLock { $0.now -= 1 }
            return batch.map { .success($0.key) }
        }
        #expect(written.sorted() == Array(0..<count))
        #expect(attempts.running.withLock(\.peak) == 3)
    }

    /// Some of the pauses are shorter than the rest, which begins with the round of the loop.
    @Test func nextBatch_waitsForTheClientsThatWereJustAnswered_whenTheyAreMany() async throws {
        let attempts = Attempts()
        let written = try await writeTogether(0..<32, repetitions: 40) { batch, _ in
            attempts.began()
            defer { attempts.ended() }
            return batch.map { .success($0.key) }
        }
        #expect(written.sorted() == Array(0..<32))
        let pauses = attempts.pauses.withLock { $0.sorted() }
        #expect(pauses[pauses.count / 2] >= WriteCoalescer<Write>.rest / 2, "\(pauses)")
    }

    /// One by one, the neighbours of a blocked write would wait for each other.
    @Test func neighboursOfABlockedWrite_areWrittenInFewParts() async throws {
        let attempts = Attempts()
        let written = try await writeTogether(0..<64) { batch, patience in
            attempts.sizes.withLock { $0.append(batch.count) }
            var isAlone = false
            if case .alone = patience { isAlone = true }
            guard isAlone || !batch.contains(where: { $0.key == 40 }) else { throw PostgresError(.lockTimeout) }
            return batch.map { .success($0.key) }
        }
        #expect(written.sorted() == Array(0..<64))
        let sizes = attempts.sizes.withLock { $0 }
        #expect(sizes.count < 32, "\(sizes)")
    }

    /// Other loops and services probably write the same rows. Their locks must not delay other keys.
    @Test func writesOfOneKey_areApartFromOthers_onceTheyHaveWaitedForEachOther() async throws {
        let batches = Locked<[[Int]]>([])
        let keys = Array(repeating: 0, count: 8) + Array(1..<40)
        let written = try await writeTogether(keys, repetitions: 5) { batch, _ in
            batches.withLock { $0.append(batch.map(\.key)) }
            return batch.map { .success($0.key) }
        }
        #expect(written.count == 47)
        let ofTheKey = batches.withLock { $0.filter { $0.contains(0) } }
        #expect(ofTheKey.count == 40)
        #expect(ofTheKey.dropFirst().allSatisfy { $0 == [0] }, "\(ofTheKey)")
    }

    @Test func failingBatch_isRepeatedInParts_downToSingleWrites() async throws {
        let written = try await writeTogether(0..<64) { batch, _ in
            guard batch.count == 1 else { throw PostgresError(.invalidData) }
            return [.success(batch[0].key)]
        }
        #expect(written.sorted() == Array(0..<64))
    }
}
