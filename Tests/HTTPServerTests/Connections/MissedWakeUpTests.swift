import EventLoop
import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

/// Other tasks may run on the loop between a task's decision to wait and its wait. Their events must not be lost.
@Suite("No event is lost on the way to a wait", .timeLimit(.minutes(5)))
struct MissedWakeUpTests {
    /// More turns of the loop than a task needs from its start to its wait.
    private static let turns = 0..<16

    @Test(arguments: turns) func requestIsServed_whenItArrivesAsHandlerTasksStart(turns: Int) async throws {
        let pair = PairedConnection([Route(.get, "/hello") { _ in .text("hello") }])
        pair.execute {
            Task(executorPreference: pair.loop) { await pair.context.handlers.run() }
            pair.execute(afterTurns: turns) { pair.receive("/hello") }
        }
        #expect(await pair.text(until: "hello").hasPrefix("HTTP/1.1 200"))
        pair.execute { pair.context.handlers.stop() }
    }

    @Test(arguments: turns) func handlerTasksEnd_whenTheyAreStoppedAtAnyTurn(turns: Int) async throws {
        let pair = PairedConnection([Route(.get, "/hello") { _ in .text("hello") }])
        let running = Task(executorPreference: pair.loop) {
            pair.receive("/hello")
            pair.execute(afterTurns: turns) { pair.context.handlers.stop() }
            await pair.context.handlers.run()
        }
        await running.value
    }

    @Test func streamContinues_whenItsReaderCatchesUpAtOnce() async throws {
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 256 * 1_024)
        let pair = PairedConnection([
            Route(.get, "/pieces") { _ in
                ServerResponse(.ok, body: .stream { writer in for _ in 0..<20 { try await writer.write(piece) } })
            }
        ])
        pair.execute {
            Task(executorPreference: pair.loop) { await pair.context.handlers.run() }
            pair.receive("/pieces")
        }
        #expect(await pair.text(until: "\r\n0\r\n\r\n").utf8.count > 20 * piece.count)
        pair.execute { pair.context.handlers.stop() }
    }
}
