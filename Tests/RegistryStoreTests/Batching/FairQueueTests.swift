import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Writes wait fairly: a flood of one app, or of one key, delays nobody else")
struct FairQueueTests {
    private let now = ContinuousClock.now
    private let one = AppNumber(1)
    private let two = AppNumber(2)

    private func queue(countMax: Int = 10_000, batchMax: Int = 4) -> FairQueue<String, Int> {
        FairQueue(countMax: countMax, batchMax: batchMax)
    }

    /// Far in the future.
    private var late: ContinuousClock.Instant { now + .seconds(60) }

    @Test func batch_holdsTheOldestOfEachKey_inTheirOrder() {
        var queue = queue()
        for (number, key) in ["a", "b", "a", "c"].enumerated() {
            _ = queue.append(number, key: key, of: one, deadline: late)
        }
        let batch = queue.takeBatch(now: now)
        #expect(batch?.items.map(\.item) == [0, 1, 3])
    }

    @Test func floodOfOneKey_leavesTheOtherKeysTheirBatch() {
        var queue = queue()
        for number in 0..<1_000 { _ = queue.append(number, key: "flood", of: one, deadline: late) }
        for number in 1_000..<1_003 { _ = queue.append(number, key: "\(number)", of: one, deadline: late) }
        let batch = queue.takeBatch(now: now)
        #expect(batch?.items.map(\.item) == [0, 1_000, 1_001, 1_002])
    }

    @Test func key_isLeftOut_whileItIsUnderWay() {
        var queue = queue()
        _ = queue.append(0, key: "a", of: one, deadline: late)
        let first = queue.takeBatch(now: now)
        _ = queue.append(1, key: "a", of: one, deadline: late)
        let whileUnderWay = queue.takeBatch(now: now)
        queue.finish(["a"], of: one)
        let afterwards = queue.takeBatch(now: now)
        #expect(first?.items.map(\.item) == [0])
        #expect(whileUnderWay == nil)
        #expect(afterwards?.contended.map(\.item) == [1] && afterwards?.items.isEmpty == true)
    }

    @Test func itemThatWaitedForItsKey_isBesideTheBatch_untilNothingWaits() {
        var queue = queue()
        for number in 0..<2 { _ = queue.append(number, key: "a", of: one, deadline: late) }
        _ = queue.takeBatch(now: now)
        _ = queue.append(2, key: "b", of: one, deadline: late)
        queue.finish(["a"], of: one)
        let second = queue.takeBatch(now: now)
        queue.finish(["a", "b"], of: one)
        _ = queue.append(3, key: "a", of: one, deadline: late)
        let third = queue.takeBatch(now: now)
        #expect(second?.items.map(\.item) == [2] && second?.contended.map(\.item) == [1])
        #expect(third?.items.map(\.item) == [3] && third?.contended.isEmpty == true)
    }

    @Test func apps_takeTurns_whenOneFloods() {
        var queue = queue()
        for number in 0..<100 { _ = queue.append(number, key: "\(number)", of: one, deadline: late) }
        _ = queue.append(100, key: "x", of: two, deadline: late)
        let apps = (0..<3).compactMap { _ in queue.takeBatch(now: now)?.app }
        #expect(apps == [one, two, one])
    }

    @Test func batch_mayGrow_untilItIsFull_orAnotherAppWaits() {
        var queue = queue()
        for number in 0..<3 { _ = queue.append(number, key: "\(number)", of: one, deadline: late) }
        #expect(queue.mayGrow(one))
        _ = queue.append(3, key: "x", of: two, deadline: late)
        #expect(!queue.mayGrow(one))
        _ = queue.takeBatch(now: now)
        _ = queue.takeBatch(now: now)
        for number in 4..<8 { _ = queue.append(number, key: "\(number)", of: one, deadline: late) }
        #expect(!queue.mayGrow(one))
    }

    @Test func item_expires_whenItsDeadlineHasPassed_andItsKeyGoesOn() {
        var queue = queue()
        _ = queue.append(0, key: "a", of: one, deadline: now)
        _ = queue.append(1, key: "a", of: one, deadline: late)
        let batch = queue.takeBatch(now: now)
        #expect(batch?.expired == [0])
        #expect(batch?.items.map(\.item) == [1])
        #expect(queue.count == 0)
    }

    @Test func append_isRefused_whenTheQueueIsFull() {
        var queue = queue(countMax: 2)
        let taken = (0..<3).map { queue.append($0, key: "\($0)", of: one, deadline: late) }
        #expect(taken == [true, true, false])
    }

    @Test func app_hasOneBatchUnderWay_besideOtherApps() {
        var queue = FairQueue<String, Int>(countMax: 100, batchMax: 1, overlapMax: 2)
        for number in 0..<3 { _ = queue.append(number, key: "\(number)", of: one, deadline: late) }
        _ = queue.append(3, key: "x", of: two, deadline: late)
        let apps = (0..<3).compactMap { _ in queue.takeBatch(now: now)?.app }
        #expect(apps == [one, two])
        _ = queue.append(4, key: "y", of: two, deadline: late)
        #expect(!queue.isReady)
        queue.finishBatch(of: two)
        let next = queue.takeBatch(now: now)
        #expect(next?.items.map(\.item) == [4])
    }

    @Test func secondApp_takesTheTurn_beforeAnAppHasTwoBatches() {
        var queue = FairQueue<String, Int>(countMax: 100, batchMax: 3, overlapMax: 2)
        for number in 0..<3 { _ = queue.append(number, key: "\(number)", of: one, deadline: late) }
        _ = queue.takeBatch(now: now)
        _ = queue.append(3, key: "3", of: one, deadline: late)
        _ = queue.append(4, key: "4", of: two, deadline: late)
        #expect(queue.takeBatch(now: now)?.app == two)
        #expect(queue.overlapCount == 0)
    }

    @Test func fullBatch_isReported_ofItsAppAlone() {
        var queue = queue()
        for number in 0..<3 { _ = queue.append(number, key: "\(number)", of: one, deadline: late) }
        for number in 0..<8 { _ = queue.append(number, key: "flood", of: two, deadline: late) }
        #expect(!queue.hasFullBatch(of: one))
        _ = queue.append(3, key: "3", of: one, deadline: late)
        #expect(queue.hasFullBatch(of: one))
        #expect(!queue.hasFullBatch(of: two), "one key, so one item a batch")
    }

    @Test func removeAll_handsOutWhatWaits_keysUnderWayIncluded() {
        var queue = queue()
        for number in 0..<3 { _ = queue.append(number, key: "a", of: one, deadline: late) }
        _ = queue.takeBatch(now: now)
        let left = queue.removeAll()
        #expect(left == [1, 2])
        #expect(!queue.isReady && queue.count == 0)
    }
}

@Suite("Reads wait fairly: a flood of one app leaves the others a part of each round trip")
struct AppQueueTests {
    @Test func batch_isOfOneApp_whenNobodyElseWaits() {
        var queue = AppQueue<Int>(countMax: 100, batchMax: 16)
        for number in 0..<20 { _ = queue.append(number, of: AppNumber(1)) }
        let batches = [queue.takeBatch(), queue.takeBatch()]
        #expect(batches.map { $0.map(\.items) } == [[Array(0..<16)], [Array(16..<20)]])
        #expect(queue.count == 0)
    }

    @Test func batch_hasAShareForEveryApp_whenOneFloods() {
        var queue = AppQueue<Int>(countMax: 100, batchMax: 16)
        for number in 0..<50 { _ = queue.append(number, of: AppNumber(1)) }
        _ = queue.append(50, of: AppNumber(2))
        let batch = queue.takeBatch()
        #expect(batch.map(\.app) == [AppNumber(1), AppNumber(2)])
        #expect(batch.map(\.items) == [Array(0..<15), [50]])
    }

    @Test func append_isRefused_whenTheQueueIsFull() {
        var queue = AppQueue<Int>(countMax: 1, batchMax: 1)
        let taken = (0..<2).map { queue.append($0, of: AppNumber(1)) }
        #expect(taken == [true, false])
    }

    @Test func app_waits_whileItsBatchIsUnderWay_andOthersDoNot() {
        var queue = AppQueue<Int>(countMax: 100, batchMax: 2)
        for number in 0..<3 { _ = queue.append(number, of: AppNumber(1)) }
        _ = queue.append(3, of: AppNumber(2))
        let batches = [queue.takeApp(), queue.takeApp()]
        #expect(batches.map { $0?.items } == [[0, 1], [3]])
        _ = queue.append(4, of: AppNumber(2))
        #expect(!queue.isReady && queue.count == 2)
        queue.finish(AppNumber(1))
        let next = queue.takeApp()
        #expect(next?.items == [2] && queue.removeAll(of: AppNumber(2)) == [4] && queue.count == 0)
    }
}
