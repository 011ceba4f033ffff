import Basics
import EventLoop
import Glibc
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

@Suite("A connection that the system cannot watch ends alone", .timeLimit(.minutes(5)))
struct UnwatchedConnectionTests {
    /// epoll_ctl(2) refuses a regular file (`EPERM`); full memory (`ENOMEM`, `ENOSPC`) takes the same way.
    @Test func connectionIsClosed_andItsLoopServesOthers() async {
        let events = EventLog()
        let other = PairedConnection([Route(.get, "/hello", constant: .text("hello"))])
        other.execute {
            let transport = PlainTransport(descriptor: open("/proc/self/exe", O_RDONLY | O_CLOEXEC))
            let address = SocketAddress(ip: IPAddress("192.0.2.1")!, port: 1)
            let connection = HTTPConnection(transport, address: address, context: other.context) { _ in
                events.add("closed")
            }
            connection.start()
            if transport.descriptor < 0 { events.add("descriptor closed") }
            other.receive("/hello")
        }
        #expect(await other.text(until: "hello").hasPrefix("HTTP/1.1 200"))
        #expect(events.count("closed") == 1)
        #expect(events.count("descriptor closed") == 1)
    }
}
