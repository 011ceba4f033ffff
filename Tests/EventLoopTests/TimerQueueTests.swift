import Testing

@testable import EventLoop

@Suite("Timers fire once, at their last deadline")
struct TimerQueueTests {
    let loop = EventLoop(name: "timers")
    let start = ContinuousClock.now
    var queue = TimerQueue()

    @Test mutating func timerIsDue_whenItsDeadlineHasPassed() {
        let timer = loop.makeTimer {}
        queue.set(timer, to: start + .seconds(5))
        #expect(queue.popDue(start + .seconds(4)) == nil)
        #expect(queue.popDue(start + .seconds(5)) === timer)
        #expect(queue.popDue(start + .seconds(60)) == nil)
    }

    @Test mutating func timerIsDueLater_whenItWasMovedLater() {
        let timer = loop.makeTimer {}
        queue.set(timer, to: start + .seconds(1))
        queue.set(timer, to: start + .seconds(9))
        #expect(queue.popDue(start + .seconds(2)) == nil)
        #expect(queue.next == start + .seconds(9))
        #expect(queue.popDue(start + .seconds(9)) === timer)
    }

    @Test mutating func timerIsDueOnce_whenItWasMovedEarlier() {
        let timer = loop.makeTimer {}
        queue.set(timer, to: start + .seconds(9))
        queue.set(timer, to: start + .seconds(1))
        #expect(queue.popDue(start + .seconds(1)) === timer)
        #expect(queue.popDue(start + .seconds(20)) == nil)
    }

    @Test mutating func timerNeverFires_whenItWasUnset() {
        let timer = loop.makeTimer {}
        queue.set(timer, to: start + .seconds(1))
        queue.unset(timer)
        #expect(queue.popDue(start + .seconds(2)) == nil)
        #expect(queue.count == 0)
    }

    @Test mutating func timerFires_whenItWasUnsetAndSetAgain() {
        let timer = loop.makeTimer {}
        queue.set(timer, to: start + .seconds(1))
        queue.unset(timer)
        queue.set(timer, to: start + .seconds(3))
        #expect(queue.popDue(start + .seconds(2)) == nil)
        #expect(queue.popDue(start + .seconds(3)) === timer)
    }

    @Test mutating func entriesStayFew_whenTimersComeAndGo() {
        for index in 1...10_000 {
            let timer = loop.makeTimer {}
            queue.set(timer, to: start + .seconds(75 + index))
            queue.unset(timer)
        }
        #expect(queue.count < 2_500)
        let last = loop.makeTimer {}
        queue.set(last, to: start + .seconds(1))
        #expect(queue.popDue(start + .seconds(1)) === last)
    }

    @Test mutating func entriesStayFew_whenADeadlineMovesAtEveryRequest() {
        let timer = loop.makeTimer {}
        for request in 1...10_000 {
            queue.set(timer, to: start + .milliseconds(request) + .seconds(75))
            _ = queue.popDue(start + .milliseconds(request))
        }
        #expect(queue.count == 1)
    }
}
