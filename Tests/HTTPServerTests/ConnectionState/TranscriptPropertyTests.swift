import HTTPTypes
import SeededRandom
import Testing

@testable import HTTPServer

/// Sends random requests in random pieces to a socket that accepts random amounts, with handlers that respond, stream
/// and are late at random. The client must receive the same bytes as without splits and delays.
@Suite("The transcript is the same, however the bytes are split")
struct TranscriptPropertyTests {
    @Test(arguments: 0..<300) func transcriptIsTheSame_whenBytesAreSplit(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = Self.requests(&random)
        let plain = Conversation()
        plain.arrive(requests.joined())
        let cut = Conversation()
        Self.converse(cut, Array(requests.joined().utf8), faultAfter: nil, &random)
        #expect(cut.text == plain.text)
        #expect(cut.finished.map(\.status) == plain.finished.map(\.status))
        #expect(cut.finished.filter { !$0.isComplete }.isEmpty)
        #expect(cut.callsAfterClose == 0)
    }

    @Test(arguments: 0..<300) func transcriptIsAPrefix_whenTheConnectionBreaks(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = Self.requests(&random)
        let plain = Conversation()
        plain.arrive(requests.joined())
        let broken = Conversation()
        Self.converse(
            broken, Array(requests.joined().utf8), faultAfter: Int.random(in: 0..<60, using: &random), &random)
        broken.fail()
        #expect(plain.text.utf8.starts(with: broken.received))
        #expect(broken.callsAfterClose == 0)
        #expect(broken.running.isEmpty && broken.admitting.isEmpty)
        #expect(broken.closed != nil && broken.nextDeadline == nil)
    }

    private static func requests(_ random: inout SeededGenerator) -> [String] {
        (0..<Int.random(in: 1...12, using: &random)).map { _ in
            let body = String(repeating: "x", count: Int.random(in: 0...3_000, using: &random))
            return switch Int.random(in: 0..<12, using: &random) {
            case 0: "GET /big HTTP/1.1\r\nHost: t\r\n\r\n"
            case 1: "POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            case 2: "POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            case 3:
                "POST /post HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "4\r\nbody\r\n3;x=y\r\nend\r\n0\r\n\r\n"
            case 4: "OPTIONS /post HTTP/1.1\r\nHost: t\r\n\r\n"
            case 5: "POST /nothing HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nthing"
            case 6: "HEAD /hello HTTP/1.1\r\nHost: t\r\n\r\n"
            default: "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"
            }
        }
    }

    /// - Parameter faultAfter: the step at which the connection breaks.
    private static func converse(
        _ conversation: Conversation, _ bytes: [UInt8], faultAfter: Int?, _ random: inout SeededGenerator
    ) {
        conversation.respondsAtOnce = false
        conversation.room = 0
        var rest = bytes[...]
        for step in 0..<200_000 {
            if step == faultAfter { conversation.fail() }
            let isDone = rest.isEmpty && conversation.running.isEmpty && conversation.admitting.isEmpty
            if isDone, conversation.isIdle || conversation.closed != nil { return }
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1:
                let count = Int.random(in: 0...min(rest.count, 700), using: &random)
                if count > 0 { conversation.arrive(Array(rest.prefix(count))) }
                rest = rest.dropFirst(count)
            case 2: conversation.makeWritable(room: Int.random(in: 0...20_000, using: &random))
            case 3: conversation.admit()
            case 4: conversation.poll()
            case 5: conversation.pass(.microseconds(Int.random(in: 0...100, using: &random)))
            default: respond(conversation, &random)
            }
        }
        Issue.record("the conversation does not end")
    }

    private static func respond(_ conversation: Conversation, _ random: inout SeededGenerator) {
        guard let exchange = conversation.running.first else { return }
        conversation.respond(Conversation.response(to: exchange), to: exchange)
    }
}
