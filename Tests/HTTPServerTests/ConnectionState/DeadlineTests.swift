import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("Every wait has a deadline")
struct DeadlineTests {
    private static let request = "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"

    /// What a client does before it stalls, the deadline, and the status of the response.
    struct Stall: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sends = ""
        var ends = false
        var responds = true
        var isHandshaking = false
        var isDraining = false
        var wait: Duration
        var status: Int?
    }

    static let stalls = [
        Stall(testDescription: "in its TLS handshake", isHandshaking: true, wait: .seconds(10)),
        Stall(
            testDescription: "in its TLS handshake while the server stops", isHandshaking: true, isDraining: true,
            wait: .milliseconds(250)),
        Stall(testDescription: "before its first byte", wait: .seconds(75)),
        Stall(testDescription: "between two requests", sends: request, wait: .seconds(75), status: 200),
        Stall(testDescription: "while the server stops", isDraining: true, wait: .milliseconds(250)),
        Stall(testDescription: "in a request line", sends: "GET /he", wait: .seconds(10), status: 408),
        Stall(testDescription: "in a header", sends: "GET /hello HTTP/1.1\r\nX-", wait: .seconds(10), status: 408),
        Stall(
            testDescription: "in a body", sends: "POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nbod",
            wait: .seconds(30), status: 408),
        Stall(
            testDescription: "in a chunk",
            sends: "POST /post HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbod", wait: .seconds(30),
            status: 408),
        Stall(
            testDescription: "in its handler", sends: request, responds: false, wait: .seconds(30), status: 503),
        Stall(
            testDescription: "while its head is checked",
            sends: "POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: 9000\r\n\r\nbod", responds: false,
            wait: .seconds(30), status: 503),
        Stall(
            testDescription: "in its handler, and has stopped sending", sends: request, ends: true, responds: false,
            wait: .seconds(1)),
    ]

    /// The reader of the response before it is too slow at the same moment.
    @Test func handlerIsCancelled_whenItsDeadlineAndTheReadersPassTogether() {
        let conversation = Conversation { $0.timeouts.write = $0.timeouts.handler }
        conversation.room = 0
        conversation.arrive(Self.request)
        conversation.respondsAtOnce = false
        conversation.arrive(Self.request)
        #expect(conversation.running.count == 1)
        conversation.pass(.seconds(30))
        #expect(conversation.closed?.reset == true)
        #expect(conversation.cancelled.count == 1)
    }

    @Test(arguments: stalls) func connectionEnds_whenItsClientStalls(_ stall: Stall) {
        let conversation = Conversation(isHandshaking: stall.isHandshaking, isDraining: stall.isDraining)
        conversation.respondsAtOnce = stall.responds
        if !stall.sends.isEmpty { conversation.arrive(stall.sends) }
        if stall.ends { conversation.end() }
        #expect(conversation.nextDeadline == stall.wait)
        conversation.pass(stall.wait - .milliseconds(1))
        #expect(conversation.closed == nil && !conversation.hasFinishedWriting)
        conversation.pass(.milliseconds(1))
        #expect(conversation.statuses == (stall.status.map { [$0] } ?? []))
        #expect(conversation.closed != nil || conversation.hasFinishedWriting)
        // Remaining input is dropped for a while; then the descriptor is closed.
        conversation.pass(.seconds(5))
        #expect(conversation.closed?.reset == false)
    }

    @Test func headsDeadlineStays_whenItArrivesSlowly() {
        let conversation = Conversation()
        conversation.arrive("GET /hello HTTP/1.1\r\nHost: t\r\n")
        for _ in 0..<9 {
            conversation.pass(.seconds(1))
            conversation.arrive("X: y\r\n")
        }
        conversation.pass(.seconds(1))
        #expect(conversation.statuses == [408])
    }

    @Test func eachRequestHasTheWholeTimeout() {
        let conversation = Conversation()
        conversation.respondsAtOnce = false
        conversation.arrive(Self.request + Self.request)
        conversation.pass(.seconds(29))
        conversation.respond()
        conversation.pass(.seconds(29))
        conversation.respond()
        #expect(conversation.statuses == [200, 200])
        #expect(conversation.nextDeadline == .seconds(75))
    }

    @Test func lastResponseIsComplete_beforeTheConnectionCloses() {
        let conversation = Conversation()
        conversation.room = 10
        conversation.arrive("nonsense\r\n\r\n")
        #expect(conversation.phase == .finishing)
        conversation.makeWritable()
        #expect(conversation.phase == .lingering)
        conversation.arrive("more nonsense")
        conversation.end()
        #expect(conversation.closed?.reset == false)
    }
}

@Suite("A reader below the minimum rate is cut off")
struct SlowReaderTests {
    private func makeReader(unacknowledged: Int = 0) -> Conversation {
        let conversation = Conversation {
            $0.timeouts.write = .seconds(30)
            $0.readBytesPerSecondMin = 100
        }
        conversation.room = 10_000
        conversation.unacknowledged = unacknowledged
        conversation.arrive("GET /big HTTP/1.1\r\nHost: t\r\n\r\n")
        return conversation
    }

    @Test func connectionIsReset_whenItsReaderIsTooSlow() {
        let conversation = makeReader()
        for _ in 0..<29 {
            conversation.pass(.seconds(1))
            conversation.makeWritable(room: 99)
        }
        conversation.pass(.seconds(1))
        #expect(conversation.closed?.reset == true)
        #expect(conversation.finished.map(\.isComplete) == [false])
    }

    @Test func connectionSurvives_whenItsReaderIsFastEnough() {
        let conversation = makeReader()
        for _ in 0..<120 {
            conversation.pass(.seconds(1))
            conversation.makeWritable(room: 110)
        }
        #expect(conversation.closed == nil)
    }

    /// The system's buffer accepts many bytes at once and then none for long. Only acknowledged bytes count.
    @Test func connectionSurvives_whenItsReaderEmptiesTheSystemsBuffer() {
        let conversation = makeReader(unacknowledged: 9_000)
        for _ in 0..<29 {
            conversation.pass(.seconds(1))
            conversation.unacknowledged -= 300
        }
        conversation.pass(.seconds(1))
        #expect(conversation.closed == nil)
        conversation.pass(.seconds(30))
        #expect(conversation.closed?.reset == true)
    }
}

@Suite("All that a connection holds is counted, until it is sent")
struct HeldBytesTests {
    private let field = "X: \(String(repeating: "x", count: 30_000))\r\n"

    @Test func headIsCounted_untilItsResponseIsSent() {
        let conversation = Conversation()
        conversation.respondsAtOnce = false
        conversation.room = 10
        conversation.arrive("GET /hello HTTP/1.1\r\nHost: t\r\n\(field)\r\n")
        #expect(conversation.heldByteCount > 30_000)
        conversation.respond()
        #expect(conversation.heldByteCount > 30_000)
        conversation.makeWritable()
        #expect(conversation.heldByteCount == 0)
    }

    @Test func bodyIsReleased_whenItsResponseIsWritten() {
        let conversation = Conversation()
        conversation.respondsAtOnce = false
        conversation.room = 10
        conversation.arrive("POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: 9000\r\n\r\n")
        conversation.arrive(String(repeating: "x", count: 9_000))
        #expect(conversation.heldByteCount > 9_000)
        conversation.respond()
        #expect(conversation.heldByteCount < 1_000)
    }

    @Test func bodyStays_whileALateHandlerMayReadIt() {
        let conversation = Conversation()
        conversation.respondsAtOnce = false
        conversation.room = 10
        conversation.arrive("POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nbody")
        conversation.pass(.seconds(30))
        let content = conversation.cancelled.first.flatMap { conversation.contents[ObjectIdentifier($0)] }
        guard case .bytes(let body)? = content else { return #expect(Bool(false), "the handler has no body") }
        #expect(body.count == 4)
    }

    @Test func fewResponsesWait_whenTheClientDoesNotRead() {
        let conversation = Conversation()
        conversation.room = 10
        conversation.arrive(String(repeating: "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n", count: 1_000))
        #expect(conversation.runs == SendQueue.responsesMax)
        conversation.makeWritable()
        #expect(conversation.statuses.count == 1_000)
        #expect(conversation.finished.count == 1_000)
        #expect(conversation.heldByteCount == 0)
    }
}
