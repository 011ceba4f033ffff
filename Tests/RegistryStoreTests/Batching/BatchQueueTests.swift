import Testing

@testable import RegistryStore

@Suite("What waits shares the next round trip, within bounds")
struct BatchQueueTests {
    @Test func takeBatch_givesTheOldestFirst_whenMoreWaitThanABatchHolds() {
        var queue = BatchQueue<Int>(countMax: 10, batchMax: 3)
        for element in 1...5 { _ = queue.append(element) }
        let batches = [queue.takeBatch(), queue.takeBatch(), queue.takeBatch()]
        #expect(batches == [[1, 2, 3], [4, 5], []])
    }

    @Test func append_isRefused_whenQueueIsFull() {
        var queue = BatchQueue<Int>(countMax: 2, batchMax: 1)
        let taken = (1...3).map { queue.append($0) }
        #expect(taken == [true, true, false])
        _ = queue.takeBatch()
        let takenLater = queue.append(4)
        #expect(takenLater)
    }

    @Test func finish_givesUpWhatWaits_andRefusesMore() {
        var queue = BatchQueue<Int>(countMax: 10, batchMax: 2)
        for element in 1...3 { _ = queue.append(element) }
        let left = queue.finish()
        let taken = queue.append(4)
        let (count, isFinished) = (queue.count, queue.isFinished)
        #expect(left == [1, 2, 3])
        #expect(!taken)
        #expect(count == 0)
        #expect(isFinished)
    }
}
