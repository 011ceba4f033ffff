import PushRegistry
import Testing

@Suite("A session of the console ends when it is idle, and at the latest after twelve hours")
struct ConsoleSessionTests {
    private let start = Timestamp(microseconds: 1_795_262_400_000_000)

    private func after(_ minutes: Int64) -> Timestamp { start.advanced(by: ISO8601Duration(seconds: minutes * 60)) }

    @Test func session_isAlive_forHalfAnHourSinceItsUse() {
        let session = ConsoleSession(.key("k"), at: start)
        #expect(session.isAlive(at: start) && session.isAlive(at: after(29)))
        #expect(!session.isAlive(at: after(30)) && session.idleUntil == after(30))
        let used = ConsoleSession(.key("k"), createdAt: start, lastUsedAt: after(29))
        #expect(used.isAlive(at: after(58)) && !used.isAlive(at: after(59)))
    }

    @Test func session_ends_afterTwelveHours_howeverOftenItIsUsed() {
        let session = ConsoleSession(.key("k"), createdAt: start, lastUsedAt: after(12 * 60 - 1))
        #expect(session.expiresAt == after(12 * 60) && session.idleUntil == session.expiresAt)
        #expect(session.isAlive(at: after(12 * 60 - 1)) && !session.isAlive(at: after(12 * 60)))
    }

    @Test func use_isRecorded_onceAMinute() {
        let session = ConsoleSession(.key("k"), at: start)
        #expect(!session.needsRecord(ofUseAt: start) && session.needsRecord(ofUseAt: after(1)))
    }
}
