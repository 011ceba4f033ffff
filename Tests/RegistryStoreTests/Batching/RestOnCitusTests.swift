import EventLoop
import Testing

@testable import RegistryStore

@Suite("On Citus, an app's next batch waits for the clients of the last one", .timeLimit(.minutes(5)))
struct RestOnCitusTests {
    @Test func rest_isHalfTheTimeOfTheBatch_andShortAfterALongOne() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let start = ContinuousClock.now
        await loop.rest(after: .milliseconds(40))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
        await loop.rest(after: .seconds(3_600))
    }

    @Test func rest_endsAtOnce_whenTheTaskIsCancelled() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let task = Task { await loop.rest(after: .seconds(3_600)) }
        task.cancel()
        await task.value
    }
}
