import HTTPTypes
import SeededRandom
import Testing

@testable import HTTPServer

/// Sends random requests in random pieces to a socket that accepts random amounts, with handlers that respond, stream
/// and are late at random. The client must receive the same bytes as without splits and delays.
@Suite("The transcript is the same, however the bytes are split")
struct TranscriptPropertyTests {
    /// What else happens in a conversation.
    private struct Course {
        /// The step at which the connection breaks.
        var faultAfter: Int?
        /// The step at which the server stops.
        var drainAfter: Int?
        /// The client stops sending after its last byte, and may still read.
        var halfCloses = false
        /// Memory is short at times.
        var memoryVaries = false
    }

    @Test(arguments: 0..<300) func transcriptIsTheSame_whenBytesAreSplit(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = Self.requests(&random)
        let course = Course(halfCloses: Bool.random(using: &random))
        Self.expectSame(Self.converse(requests, course, &random), as: requests)
    }

    /// Without responses that would be refused: those must not hold many bytes.
    @Test(arguments: 0..<300) func transcriptIsTheSame_whenMemoryIsShortAtTimes(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = Self.requests(&random).filter { !$0.hasPrefix("GET /big") }
        Self.expectSame(Self.converse(requests, Course(memoryVaries: true), &random), as: requests)
    }

    /// The last response, unless it was streamed, also has a field that says so.
    @Test(arguments: 0..<300) func transcriptIsAPrefixOfWholeResponses_whenTheServerStops(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = Self.requests(&random)
        let course = Course(drainAfter: Int.random(in: 0..<60, using: &random), halfCloses: true)
        let drained = Self.converse(requests, course, &random)
        let text = drained.text.replacing("Connection: close\r\n", with: "")
        #expect(Self.plain(requests).text.hasPrefix(text))
        #expect(drained.finished.filter { !$0.isComplete }.isEmpty)
        #expect(drained.closed?.reset == false)
        #expect(drained.callsAfterClose == 0)
    }

    @Test(arguments: 0..<300) func transcriptIsAPrefix_whenTheConnectionBreaks(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = Self.requests(&random)
        let course = Course(faultAfter: Int.random(in: 0..<60, using: &random))
        let broken = Self.converse(requests, course, &random)
        broken.fail()
        #expect(Self.plain(requests).text.utf8.starts(with: broken.received))
        #expect(broken.callsAfterClose == 0)
        #expect(broken.running.isEmpty && broken.admitting.isEmpty)
        #expect(broken.closed != nil && broken.nextDeadline == nil)
    }

    private static func plain(_ requests: [String]) -> Conversation {
        let plain = Conversation()
        plain.arrive(requests.joined())
        return plain
    }

    private static func expectSame(_ cut: Conversation, as requests: [String]) {
        let plain = plain(requests)
        #expect(cut.text == plain.text)
        #expect(cut.finished.map(\.status) == plain.finished.map(\.status))
        #expect(cut.finished.filter { !$0.isComplete }.isEmpty)
        #expect(cut.callsAfterClose == 0)
    }

    private static func requests(_ random: inout SeededGenerator) -> [String] {
        (0..<Int.random(in: 1...12, using: &random)).map { _ in
            let body = String(repeating: "x", count: Int.random(in: 0...3_000, using: &random))
            return switch Int.random(in: 0..<14, using: &random) {
            case 0: "GET /big HTTP/1.1\r\nHost: t\r\n\r\n"
            case 1: "POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            case 2: "POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            case 3:
                "POST /post HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "4\r\nbody\r\n3;x=y\r\nend\r\n0\r\n\r\n"
            case 4: "OPTIONS /post HTTP/1.1\r\nHost: t\r\n\r\n"
            case 5: "POST /nothing HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nthing"
            case 6: "HEAD /hello HTTP/1.1\r\nHost: t\r\n\r\n"
            case 7, 8: "GET /stream/\(Int.random(in: 0..<1_000, using: &random)) HTTP/1.1\r\nHost: t\r\n\r\n"
            default: "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"
            }
        }
    }

    private static func converse(
        _ requests: [String], _ course: Course, _ random: inout SeededGenerator
    ) -> Conversation {
        let conversation = Conversation { $0.outputHighWatermarkBytes = 16_384 }
        conversation.respondsAtOnce = false
        conversation.room = 0
        var rest = Array(requests.joined().utf8)[...]
        var pieces: [[UInt8]] = []
        for step in 0..<200_000 {
            if step == course.faultAfter { conversation.fail() }
            if step == course.drainAfter { conversation.drain() }
            if rest.isEmpty, isOver(conversation, course) { return conversation }
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                let count = Int.random(in: 0...min(rest.count, 700), using: &random)
                if count > 0 { conversation.arrive(Array(rest.prefix(count))) }
                rest = rest.dropFirst(count)
                if rest.isEmpty, course.halfCloses { conversation.end() }
            case 2: conversation.makeWritable(room: Int.random(in: 0...20_000, using: &random))
            case 3: conversation.admit()
            case 4: conversation.poll()
            case 5: conversation.pass(.microseconds(Int.random(in: 0...100, using: &random)))
            case 6: if course.memoryVaries { conversation.setMemoryShort(Bool.random(using: &random)) }
            default: respond(conversation, &pieces)
            }
        }
        Issue.record("the conversation does not end")
        return conversation
    }

    private static func isOver(_ conversation: Conversation, _ course: Course) -> Bool {
        if conversation.closed != nil { return true }
        guard conversation.running.isEmpty, conversation.admitting.isEmpty else { return false }
        return conversation.isIdle && !course.halfCloses
    }

    /// One step of the oldest handler: the response, or the next piece of it.
    private static func respond(_ conversation: Conversation, _ pieces: inout [[UInt8]]) {
        if let exchange = conversation.streaming {
            guard !conversation.mustWait(exchange) else { return }
            if pieces.isEmpty { return conversation.endStream(of: exchange) }
            return conversation.stream(pieces.removeFirst(), of: exchange)
        }
        guard let exchange = conversation.running.first else { return }
        guard let streamed = Conversation.pieces(of: exchange) else {
            return conversation.respond(Conversation.response(to: exchange), to: exchange)
        }
        pieces = streamed
        conversation.beginStream()
    }
}
