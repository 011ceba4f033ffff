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

    @Test(arguments: [Duration.microseconds(501), .milliseconds(4)])
    mutating func pauseIsAMultiple_afterALongTime(_ duration: Duration) {
        let end = start + duration
        givingWay.ended(from: start, to: end)
        #expect(!givingWay.isAllowed(at: end))
        #expect(!givingWay.isAllowed(at: end + duration * 4 - .nanoseconds(1)))
        #expect(givingWay.isAllowed(at: end + duration * 4))
    }

    /// The part of a loop's time that a thread that computes gets by `GivingWay`, for slices of any length.
    @Test(arguments: [Duration.microseconds(600), .milliseconds(1), .milliseconds(3), .milliseconds(10)])
    mutating func aFifthIsLostAtMost_toAThreadThatComputes(slice: Duration) {
        var (now, lost) = (start, Duration.zero)
        while now < start + .seconds(1) {
            if givingWay.isAllowed(at: now) {
                givingWay.ended(from: now, to: now + slice)
                (now, lost) = (now + slice, lost + slice)
            }
            now += .microseconds(100)
        }
        #expect(lost < (now - start) / 5 + slice)
    }
}
