import EventLoop
import Logging
import PushRegistry
import Synchronization
import Testing

@testable import PostgresClient
@testable import RegistryStore

@Suite("A batch with a blocked write is repeated in parts", .timeLimit(.minutes(45)))
struct WriteCoalescerTests {
    private struct Write: BatchedWrite {
        typealias Outcome = Int

        let app = AppNumber(1)
        let key: Int
    }

    /// What was tried.
    private final class Attempts: Sendable {
        let sizes = Mutex<[Int]>([])
    }

    /// - Parameter body: writes a batch.
    private func writeTogether(_ keys: Range<Int>, _ body: @escaping WriteCoalescer<Write>.Body) async throws -> [Int] {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let pool = PostgresClient(
            try PostgresConfiguration("host=unused"), on: loop, limits: .init(), logger: Logger(label: "test"))
        let coalescer = WriteCoalescer<Write>(
            LoopResources(postgres: pool, clock: RegistryClock()), meters: WriteMeters("test"), body: body)
        // Ends with this scope.
        async let _ = coalescer.run()
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for key in keys {
                group.addTask(executorPreference: loop) { try await coalescer.write(Write(key: key)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
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

    @Test func failingBatch_isRepeatedInParts_downToSingleWrites() async throws {
        let written = try await writeTogether(0..<64) { batch, _ in
            guard batch.count == 1 else { throw PostgresError(.invalidData) }
            return [.success(batch[0].key)]
        }
        #expect(written.sorted() == Array(0..<64))
    }
}
