import Testing

@testable import PushRegistry

extension NotificationPost {
    fileprivate static func make(
        _ collapseID: String? = nil, dedupID: String? = nil, for seconds: Int64 = 1_000, waitingMax: Int = 100
    ) -> NotificationPost {
        var draft = AppPolicy.Draft()
        draft.notificationsMax = waitingMax
        guard let policy = try? AppPolicy(draft) else { preconditionFailure("a test's policy is valid") }
        return NotificationPost(
            to: .installation(.make("phone"), ifAt: nil),
            of: App(number: AppNumber(1), id: App.make().id, policy: policy),
            payload: "{}", timeToLive: ISO8601Duration(seconds: seconds), collapseID: collapseID, dedupID: dedupID)
    }
}

extension NotificationBox {
    fileprivate static var empty: NotificationBox { NotificationBox(last: 0, dropped: 0, waiting: [], remembered: [:]) }

    /// A notification that belongs to no message.
    fileprivate mutating func store(_ post: NotificationPost, index: Int, at now: Timestamp) -> IssuedNumber {
        store(post, index: index, at: now, sealing: { () -> String? in nil })
    }

    /// The box as the next transaction loads it.
    fileprivate func reloaded(_ stored: inout [Waiting], _ remembered: inout [String: Remembered]) -> NotificationBox {
        stored = stored.filter { !removed.contains($0.number) } + added.map(\.waiting)
        remembered.merge(newlyRemembered) { $1 }
        return NotificationBox(last: last, dropped: dropped, waiting: stored, remembered: remembered)
    }
}

@Suite("Notifications of an installation are numbered without a gap (fine print 60, 61, 63, 80, 103)")
struct NotificationBoxTests {
    @Test func numbers_beginAtOne_andNameTheHighestOneThatWaits() {
        var box = NotificationBox.empty
        let issued = (0..<3).map { box.store(.make(), index: $0, at: .at(0)) }
        #expect(issued.map(\.number) == [1, 2, 3])
        #expect(issued.map(\.previous) == [0, 1, 2])
        #expect(box.added.map(\.post) == [0, 1, 2] && box.last == 3)
    }

    @Test func previous_skipsExpiredNotifications() {
        var box = NotificationBox.empty
        _ = box.store(.make(for: 1_000), index: 0, at: .at(0))
        _ = box.store(.make(for: 1), index: 1, at: .at(0))
        #expect(box.store(.make(), index: 2, at: .at(1)) == IssuedNumber(number: 3, previous: 1))
    }

    @Test func badge_countsNeitherExpiredNorReplacedNorDroppedOnes() {
        let stored = NotificationBox.Waiting(number: 1, expiresAt: .at(100), collapseID: "mail")
        var box = NotificationBox(last: 1, dropped: 0, waiting: [stored], remembered: [:])
        _ = box.store(.make(dedupID: "d"), index: 0, at: .at(0))
        #expect(box.badge(of: 2, at: .at(0)) == 2)
        _ = box.store(.make("mail"), index: 1, at: .at(0))
        #expect(box.badge(of: 3, at: .at(0)) == 2)
        _ = box.store(.make(dedupID: "d"), index: 2, at: .at(0))
        #expect(box.badge(of: 2, at: .at(0)) == 2)
        _ = box.store(.make(for: 1, waitingMax: 2), index: 3, at: .at(0))
        #expect(box.badge(of: 4, at: .at(0)) == 2)
        #expect(box.badge(of: 3, at: .at(1)) == 1)
    }

    @Test func badge_countsThisOne_evenIfItIsAcknowledged() {
        let known = NotificationBox.Remembered(IssuedNumber(number: 7, previous: 0), expiresAt: .at(100))
        var box = NotificationBox(last: 7, dropped: 0, waiting: [], remembered: ["d": known])
        let again = box.store(.make(dedupID: "d"), index: 0, at: .at(0))
        #expect(box.badge(of: again.number, at: .at(0)) == 1)
    }

    @Test func previous_isZero_whenNothingWaits() {
        var box = NotificationBox(last: 7, dropped: 0, waiting: [], remembered: [:])
        #expect(box.store(.make(), index: 0, at: .at(0)) == IssuedNumber(number: 8, previous: 0))
    }

    @Test func collapse_replacesTheOlderNotification_storedOrNot() {
        let stored = NotificationBox.Waiting(number: 1, expiresAt: .at(100), collapseID: "mail")
        var box = NotificationBox(last: 1, dropped: 0, waiting: [stored], remembered: [:])
        #expect(box.store(.make("mail"), index: 0, at: .at(0)) == IssuedNumber(number: 2, previous: 0))
        #expect(box.store(.make("call"), index: 1, at: .at(0)) == IssuedNumber(number: 3, previous: 2))
        #expect(box.store(.make("mail"), index: 2, at: .at(0)) == IssuedNumber(number: 4, previous: 3))
        #expect(box.removed == [1])
        #expect(box.added.map(\.waiting.number) == [3, 4])
        #expect(box.dropped == 0)
    }

    @Test func limit_dropsTheOldest_andStoresItsNumber() {
        var box = NotificationBox.empty
        for index in 0..<5 { _ = box.store(.make(waitingMax: 3), index: index, at: .at(0)) }
        #expect(box.added.map(\.waiting.number) == [3, 4, 5])
        #expect(box.dropped == 2 && box.dropCount == 2)
    }

    @Test func limit_countsOnlyWaitingNotifications() {
        var box = NotificationBox.empty
        _ = box.store(.make(for: 1, waitingMax: 2), index: 0, at: .at(0))
        _ = box.store(.make("same", waitingMax: 2), index: 1, at: .at(0))
        _ = box.store(.make("same", waitingMax: 2), index: 2, at: .at(1))
        _ = box.store(.make(waitingMax: 2), index: 3, at: .at(1))
        #expect(box.dropped == 0)
        #expect(box.added.map(\.waiting.number) == [3, 4])
    }

    @Test func lowerLimit_dropsAllInExcess() {
        let stored = (1...10).map { NotificationBox.Waiting(number: $0, expiresAt: .at(100), collapseID: nil) }
        var box = NotificationBox(last: 10, dropped: 0, waiting: stored, remembered: [:])
        #expect(box.store(.make(waitingMax: 4), index: 0, at: .at(0)) == IssuedNumber(number: 11, previous: 10))
        #expect(box.removed == Array(1...7) && box.dropped == 7)
    }

    @Test func dedup_returnsTheSameNumbers_untilTheFirstPostHasExpired() {
        var box = NotificationBox.empty
        _ = box.store(.make(), index: 0, at: .at(0))
        let first = box.store(.make(dedupID: "d", for: 10), index: 1, at: .at(0))
        _ = box.store(.make(), index: 2, at: .at(5))
        #expect(box.store(.make(dedupID: "d", for: 99), index: 3, at: .at(9)) == first)
        #expect(box.last == 3)
        #expect(box.store(.make(dedupID: "d"), index: 4, at: .at(10)).number == 4)
        #expect(box.newlyRemembered["d"]?.issued.number == 4)
    }

    @Test func dedup_staysAfterCollapseAndAcknowledgement_withItsReceipt() {
        let known = NotificationBox.Remembered(
            IssuedNumber(number: 4, previous: 2, receipt: "first"), expiresAt: .at(100))
        var box = NotificationBox(last: 6, dropped: 0, waiting: [], remembered: ["d": known])
        let issued = box.store(.make(dedupID: "d"), index: 0, at: .at(1), sealing: { () -> String? in "second" })
        #expect(issued == known.issued)
        #expect(!box.isChanged)
    }

    /// Random posts against a plain list: every number is used once, and `previous` never names a deleted notification.
    @Test(arguments: 0..<20) func box_equalsItsModel(_ seed: UInt64) {
        var random = SystemRandomNumberGenerator()
        var stored: [NotificationBox.Waiting] = []
        var remembered: [String: NotificationBox.Remembered] = [:]
        var model: [NotificationBox.Waiting] = []
        var (last, time) = (Int64(0), Int64(0))
        var box = NotificationBox.empty
        for _ in 0..<400 {
            time += Int64.random(in: 0...2, using: &random)
            let life = Int64.random(in: 1...20, using: &random)
            let collapse = Bool.random(using: &random) ? "c\(Int.random(in: 0...2, using: &random))" : nil
            let issued = box.store(.make(collapse, for: life, waitingMax: 6), index: 0, at: .at(time))
            model.removeAll { $0.expiresAt <= .at(time) || collapse != nil && $0.collapseID == collapse }
            model.removeFirst(max(0, model.count - 5))
            #expect(issued == IssuedNumber(number: last + 1, previous: model.last?.number ?? 0))
            last += 1
            model.append(.init(number: last, expiresAt: .at(time + life), collapseID: collapse))
            if Int.random(in: 0..<3, using: &random) == 0 {
                box = box.reloaded(&stored, &remembered)
                #expect(stored == model)
            }
        }
    }
}

@Suite("A fetch is complete or reports a gap (fine print 62, 69, 70, 106)")
struct NotificationNumbersTests {
    private func numbers(
        last: Int64 = 10, acknowledged: Int64 = 0, dropped: Int64 = 0, waiting: ClosedRange<Int64>? = 1...10
    ) -> NotificationNumbers {
        NotificationNumbers(last: last, acknowledged: acknowledged, dropped: dropped, waiting: waiting)
    }

    @Test func gap_ends_whenTheClientHasReachedTheDroppedNumber() {
        let numbers = numbers(dropped: 4, waiting: 5...10)
        #expect((0...3).allSatisfy { numbers.isGap(after: $0) })
        #expect((4...10).allSatisfy { !numbers.isGap(after: $0) })
    }

    @Test func acknowledgedNumbers_areNoGap() {
        #expect(!numbers(acknowledged: 6, dropped: 4, waiting: 7...10).isGap(after: 0))
    }

    @Test func numberAboveTheLast_isAGap() {
        #expect(numbers().isGap(after: 11) && !numbers().isGap(after: 10))
        #expect(NotificationNumbers.none.isGap(after: 1) && !NotificationNumbers.none.isGap(after: 0))
    }

    @Test func first_isTheLowestThatWaits_orTheNext() {
        #expect(numbers(waiting: 3...9).first == 3)
        #expect(numbers(waiting: nil).first == 11)
        #expect(NotificationNumbers.none.first == 1)
    }
}
