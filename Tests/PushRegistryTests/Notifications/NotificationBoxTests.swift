import Basics
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
    fileprivate func reloaded(_ stored: inout [Waiting], _ remembered: inout [ExactText: Remembered]) -> NotificationBox
    {
        stored = stored.filter { !removed.contains($0.number) } + added.map(\.waiting)
        remembered.merge(newlyRemembered) { $1 }
        return NotificationBox(last: last, dropped: dropped, waiting: stored, remembered: remembered)
    }
}

@Suite("Notifications of an installation are numbered without a gap (fine print 60, 61, 63, 80, 103)")
struct NotificationBoxTests {
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

    /// As in the primary keys of the tables.
    @Test func names_areComparedByTheirBytes() {
        var box = NotificationBox.empty
        let posts: [NotificationPost] = [
            .make("caf\u{E9}"), .make("cafe\u{301}"), .make(dedupID: "caf\u{E9}"), .make(dedupID: "cafe\u{301}"),
        ]
        let numbers = posts.enumerated().map { box.store($1, index: $0, at: .at(0)).number }
        #expect(numbers == [1, 2, 3, 4] && box.added.count == 4 && box.newlyRemembered.count == 2)
    }

    @Test func lowerLimit_dropsAllInExcess() {
        let stored = (1...10).map { NotificationBox.Waiting(number: $0, expiresAt: .at(100), collapseID: nil) }
        var box = NotificationBox(last: 10, dropped: 0, waiting: stored, remembered: [:])
        #expect(box.store(.make(waitingMax: 4), index: 0, at: .at(0)) == IssuedNumber(number: 11, previous: 10))
        #expect(box.removed == Array(1...7) && box.dropped == 7)
    }

    /// Random posts against a plain list: every number is used once, and `previous` never names a deleted notification.
    @Test(arguments: 0..<20) func box_equalsItsModel(_ seed: UInt64) {
        var random = SystemRandomNumberGenerator()
        var stored: [NotificationBox.Waiting] = []
        var remembered: [ExactText: NotificationBox.Remembered] = [:]
        var model: [NotificationBox.Waiting] = []
        var (last, time) = (Int64(0), Int64(0))
        var box = NotificationBox.empty
        for _ in 0..<400 {
            time += Int64.random(in: 0...2, using: &random)
            let life = Int64.random(in: 1...20, using: &random)
            let collapse = Bool.random(using: &random) ? "c\(Int.random(in: 0...2, using: &random))" : nil
            let issued = box.store(.make(collapse, for: life, waitingMax: 6), index: 0, at: .at(time))
            model.removeAll { $0.expiresAt <= .at(time) || collapse != nil && $0.collapseID?.text == collapse }
            model.removeFirst(max(0, model.count - 5))
            #expect(issued == IssuedNumber(number: last + 1, previous: model.last?.number ?? 0))
            last += 1
            model.append(.init(number: last, expiresAt: .at(time + life), collapseID: collapse.map { ExactText($0) }))
            if Int.random(in: 0..<3, using: &random) == 0 {
                box = box.reloaded(&stored, &remembered)
                #expect(stored == model)
            }
        }
    }
}
