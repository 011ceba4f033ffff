import Basics
import HTTPTypes
import Testing

@testable import HTTPServer

@Suite("The transcript is the same, however the bytes are split")
struct TranscriptPropertyTests {
    private static let seeds = 0..<100

    @Test(arguments: RequestKind.allCases) func everyKindOfRequestIsWhatItsNameSays(_ kind: RequestKind) {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<50 {
            let plain = RandomCourse.plain([kind.text(&random), RequestKind.hello.text(&random)])
            let isLast = RequestKind.closing.contains(kind)
            #expect(plain.finished.count == (isLast ? 1 : 2))
            #expect(isLast ? plain.hasFinishedWriting : plain.isIdle)
            #expect(kind.statuses.contains(plain.finished.first?.status?.code ?? 0))
        }
    }

    @Test(arguments: seeds) func transcriptIsTheSame_whenBytesAreSplit(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = RequestKind.requests(&random)
        var course = RandomCourse(halfCloses: Bool.random(using: &random))
        Self.expectSame(course.converse(requests, &random), as: RandomCourse.plain(requests), course)
    }

    /// Without responses that would be refused: those must not hold many bytes.
    @Test(arguments: seeds) func transcriptIsTheSame_whenMemoryIsShortAtTimes(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = RequestKind.requests(&random, without: [.big])
        var course = RandomCourse(memoryVaries: true)
        Self.expectSame(course.converse(requests, &random), as: RandomCourse.plain(requests), course)
    }

    /// With a checked head, there is an interim response unless the body arrives with the head.
    @Test(arguments: seeds) func finalResponsesAreTheSame_whenHeadsThatExpectAreChecked(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = (0..<4).map { _ in RequestKind.expectingChecked.text(&random) }
        var course = RandomCourse()
        let cut = course.converse(requests, &random)
        let plain = RandomCourse.plain(requests)
        #expect(cut.finalText == plain.finalText)
        #expect(cut.statuses.count { $0 == 100 } <= requests.count)
        #expect(cut.finished.map(\.status) == plain.finished.map(\.status))
    }

    /// A route that refuses a request before its body has arrived ends the connection: the body is not parsed as the
    /// next request. If the body arrives with the head, the connection goes on.
    @Test(arguments: seeds) func connectionEnds_whenTheResponseComesBeforeTheBody(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let before = RequestKind.requests(&random).filter { RandomCourse.plain([$0]).isIdle }
        let refused = before + [RequestKind.refused.text(&random)]
        let requests = refused + [RequestKind.hello.text(&random)]
        var course = RandomCourse(halfCloses: Bool.random(using: &random))
        let cut = course.converse(requests, &random)
        let isRefusedEarly = cut.finished.count == refused.count
        let plain = RandomCourse.plain(isRefusedEarly ? refused : requests)
        #expect(Self.withoutPersistence(cut) == Self.withoutPersistence(plain))
        #expect(isRefusedEarly == cut.text.contains("Connection: close"))
        #expect(cut.finished.filter { !$0.isComplete }.isEmpty && cut.callsAfterClose == 0)
    }

    /// The last response, unless it was streamed, also has a field that says so.
    @Test(arguments: seeds) func transcriptIsAPrefixOfWholeResponses_whenTheServerStops(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = RequestKind.requests(&random)
        var course = RandomCourse(drainAfter: Int.random(in: 0..<60, using: &random), halfCloses: true)
        let drained = course.converse(requests, &random)
        #expect(Self.withoutPersistence(RandomCourse.plain(requests)).hasPrefix(Self.withoutPersistence(drained)))
        Self.expectWholeResponses(drained)
        #expect(drained.closed?.reset == false)
    }

    @Test(arguments: seeds) func transcriptIsAPrefixOfWholeResponses_whenTheConnectionIsEvicted(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = RequestKind.requests(&random)
        var course = RandomCourse(evictAfter: Int.random(in: 0..<200, using: &random))
        let evicted = course.converse(requests, &random)
        #expect(RandomCourse.plain(requests).finalText.hasPrefix(evicted.finalText))
        Self.expectWholeResponses(evicted)
        #expect(evicted.closed?.reset != true)
    }

    @Test(arguments: seeds) func transcriptIsAPrefix_whenTheConnectionBreaks(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = RequestKind.requests(&random)
        var course = RandomCourse(faultAfter: Int.random(in: 0..<60, using: &random))
        let broken = course.converse(requests, &random)
        broken.fail()
        #expect(RandomCourse.plain(requests).finalText.hasPrefix(broken.finalText))
        Self.expectEnded(broken)
    }

    /// A prefix of the plain transcript, then the deadline's response, if it has one. That is the response which the
    /// request gets if it is the only one, and stalls at the same byte.
    @Test(arguments: 0..<1_000) func transcriptIsAPrefixAndOneError_whenDeadlinesPass(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let requests = RequestKind.requests(&random)
        var course = RandomCourse(halfCloses: Bool.random(using: &random))
        course.pauseMax = .seconds([1, 5, 40].randomElement(using: &random) ?? 1)
        let late = course.converse(requests, &random)
        var expected = RandomCourse.plain(requests).finalText
        if let stall = course.stall {
            let index = late.finished.count - 1
            let (response, problem) = Self.response(to: stall, index, of: requests)
            expected = RandomCourse.plain(requests.prefix(index)).finalText + response
            #expect(late.problems == [problem])
        }
        #expect(expected.hasPrefix(late.finalText))
        if late.finished.allSatisfy(\.isComplete) { Self.expectWholeResponses(late) }
        #expect(late.problems.count <= 1)
        for _ in 0..<10 where late.closed == nil { late.pass(late.nextDeadline ?? .zero) }
        Self.expectEnded(late)
    }
}

extension TranscriptPropertyTests {
    /// What the request at `index` gets if it stalls alone, and the code of the problem that it must be.
    private static func response(
        to stall: RandomCourse.Stall, _ index: Int, of requests: [String]
    ) -> (text: String, problem: String) {
        let before = requests.prefix(index).reduce(0) { $0 + $1.utf8.count }
        let sent = requests.dropFirst(index).first?.utf8.prefix(max(0, stall.sentByteCount - before)) ?? "".utf8[...]
        let alone = RandomCourse.conversation(outputHighWatermarkBytes: 16_384)
        alone.respondsAtOnce = false
        alone.arrive(Array(sent))
        if stall.isAdmitted { alone.admit() }
        let isHandled = !alone.running.isEmpty || !alone.admitting.isEmpty
        alone.pass(alone.nextDeadline ?? .zero)
        let isHeadComplete = sent.firstRange(of: "\r\n\r\n".utf8) != nil
        return (alone.finalText, isHandled ? "handler-timeout" : isHeadComplete ? "body-timeout" : "head-timeout")
    }

    private static func withoutPersistence(_ conversation: Conversation) -> String {
        conversation.finalText.replacing("Connection: close\r\n", with: "")
            .replacing("Connection: keep-alive\r\n", with: "")
    }

    private static func expectSame(_ cut: Conversation, as plain: Conversation, _ course: RandomCourse) {
        #expect(cut.finalText == plain.finalText)
        #expect(cut.finished.map(\.status) == plain.finished.map(\.status))
        #expect(cut.finished.filter { !$0.isComplete }.isEmpty)
        #expect(cut.callsAfterClose == 0)
        if course.halfCloses {
            #expect(cut.closed?.reset == false)
        } else {
            #expect(cut.hasFinishedWriting == plain.hasFinishedWriting)
        }
    }

    /// Nothing is cut, and every response is reported.
    private static func expectWholeResponses(_ conversation: Conversation) {
        #expect(conversation.finished.filter { !$0.isComplete }.isEmpty)
        #expect(conversation.statuses.filter { $0 != 100 } == conversation.finished.map { $0.status?.code })
        #expect(conversation.callsAfterClose == 0)
    }

    /// The connection is closed, nothing runs, and nothing more is sent.
    private static func expectEnded(_ conversation: Conversation) {
        #expect(conversation.closed != nil && conversation.nextDeadline == nil)
        #expect(conversation.running.isEmpty && conversation.admitting.isEmpty)
        let received = conversation.received.count
        for exchange in conversation.cancelled {
            conversation.respond(to: exchange)
            conversation.stream("late", of: exchange)
            conversation.endStream(of: exchange)
        }
        conversation.arrive("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
        conversation.makeWritable()
        conversation.pass(.seconds(100))
        #expect(conversation.received.count == received && conversation.callsAfterClose == 0)
    }
}
