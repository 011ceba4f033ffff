import Testing

@testable import EventLoop

@Suite("A loop gives way to threads that soon have its next input")
struct GivingWayTests {
    private let start = ContinuousClock.now
    private var givingWay = GivingWay()

    @Test mutating func loopGivesWayAgain_afterAShortTime() {
        #expect(givingWay.isAllowed(at: start))
        let end = start + GivingWay.durationMax
        givingWay.ended(from: start, to: end)
        #expect(givingWay.isAllowed(at: end))
    }

    @Test mutating func loopPauses_afterALongTime() {
        let end = start + GivingWay.durationMax + .nanoseconds(1)
        givingWay.ended(from: start, to: end)
        #expect(!givingWay.isAllowed(at: end))
        #expect(!givingWay.isAllowed(at: end + GivingWay.pause - .nanoseconds(1)))
        #expect(givingWay.isAllowed(at: end + GivingWay.pause))
    }

    /// Time slices of Linux take some milliseconds.
    @Test mutating func aHundredthIsLostAtMost_toAThreadThatComputes() {
        let slice = Duration.milliseconds(4)
        var (now, lost) = (start, Duration.zero)
        while now < start + .seconds(10) {
            if givingWay.isAllowed(at: now) {
                givingWay.ended(from: now, to: now + slice)
                (now, lost) = (now + slice, lost + slice)
            }
            now += .microseconds(100)
        }
        #expect(lost < (now - start) / 100)
    }
}
