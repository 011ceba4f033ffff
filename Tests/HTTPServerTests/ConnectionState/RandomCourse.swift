import Basics
import Testing

@testable import HTTPServer

/// The course of a random conversation: the client sends its requests in random pieces, its socket accepts random
/// amounts, and handlers respond, stream and are late at random.
struct RandomCourse {
    /// The step at which the connection breaks.
    var faultAfter: Int?
    /// The step at which the server stops.
    var drainAfter: Int?
    /// The step from which the server closes the connection when it is idle.
    var evictAfter: Int?
    /// The client stops sending after its last byte, and may still read.
    var halfCloses = false
    /// Memory is short at times.
    var memoryVaries = false
    /// The longest time that passes in one step.
    var pauseMax = Duration.microseconds(100)

    /// A deadline that passed and has a response.
    struct Stall {
        /// The bytes that the client had sent.
        let sentByteCount: Int
        /// No route was checking a head.
        let isAdmitted: Bool
    }

    /// Set by `converse`.
    var stall: Stall?

    static func conversation(outputHighWatermarkBytes: Int) -> Conversation {
        Conversation {
            $0.droppedBodyBytesMax = RequestKind.droppedBodyBytesMax
            $0.outputHighWatermarkBytes = outputHighWatermarkBytes
        }
    }

    /// The conversation without splits, delays and other events.
    static func plain(_ requests: some Sequence<String>) -> Conversation {
        let conversation = conversation(outputHighWatermarkBytes: 128 * 1_024)
        conversation.admitsAtOnce = true
        conversation.arrive(requests.joined())
        return conversation
    }
}

extension RandomCourse {
    mutating func converse(_ requests: [String], _ random: inout SeededGenerator) -> Conversation {
        let conversation = Self.conversation(outputHighWatermarkBytes: 16_384)
        conversation.respondsAtOnce = false
        conversation.room = 0
        let input = Array(requests.joined().utf8)
        var sent = 0
        // Of the response that is being streamed.
        var pieces: [[UInt8]] = []
        for step in 0..<200_000 {
            if step == faultAfter { conversation.fail() }
            if step == drainAfter { conversation.drain() }
            if let evictAfter, step >= evictAfter { conversation.evict() }
            if sent == input.count, isOver(conversation) { return conversation }
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                let count = Self.pieceByteCount(input[sent...], &random)
                if count > 0 { conversation.arrive(Array(input[sent..<(sent + count)])) }
                sent += count
                if sent == input.count, halfCloses { conversation.end() }
            case 2: conversation.makeWritable(room: Int.random(in: 0...20_000, using: &random))
            case 3: conversation.admit()
            case 4: conversation.poll()
            case 5: pass(pauseMax * Double.random(in: 0...1, using: &random), conversation, sent)
            case 6: if memoryVaries { conversation.setMemoryShort(Bool.random(using: &random)) }
            default: Self.respond(conversation, &pieces)
            }
        }
        Issue.record("the conversation does not end")
        return conversation
    }

    /// Some clients send a head alone, for example those that expect an interim response.
    private static func pieceByteCount(_ rest: ArraySlice<UInt8>, _ random: inout SeededGenerator) -> Int {
        let count = Int.random(in: 0...min(rest.count, 700), using: &random)
        guard Int.random(in: 0..<4, using: &random) == 0 else { return count }
        let head = rest.prefix(700).firstRange(of: Array("\r\n\r\n".utf8))
        return head.map { $0.upperBound - rest.startIndex } ?? count
    }

    /// The client has its responses and waits.
    private func isOver(_ conversation: Conversation) -> Bool {
        if conversation.closed != nil { return true }
        guard !halfCloses, conversation.running.isEmpty, conversation.admitting.isEmpty else { return false }
        return conversation.isIdle || conversation.hasFinishedWriting
    }

    private mutating func pass(_ time: Duration, _ conversation: Conversation, _ sent: Int) {
        let (isAdmitted, problems) = (conversation.admitting.isEmpty, conversation.problems.count)
        conversation.pass(time)
        if conversation.problems.count > problems { stall = Stall(sentByteCount: sent, isAdmitted: isAdmitted) }
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
            return conversation.respond(conversation.response(to: exchange), to: exchange)
        }
        pieces = streamed
        conversation.beginStream()
    }
}
