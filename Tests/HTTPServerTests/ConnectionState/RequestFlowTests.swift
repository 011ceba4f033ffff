import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

private let hello = "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"
private let big = "GET /big HTTP/1.1\r\nHost: t\r\n\r\n"

@Suite("Pipelined requests continue without another event, as far as the client reads")
struct PipeliningTests {
    @Test func bodyOfHead_isNotCounted() {
        let conversation = Conversation()
        conversation.arrive("HEAD /hello HTTP/1.1\r\nHost: t\r\n\r\n" + hello)
        #expect(conversation.finished.map(\.outcome.responseBodyByteCount) == [0, 8])
    }

    @Test func nextRequestWaits_whileMuchOutputIsUnsent() {
        let conversation = Conversation()
        conversation.room = 1_000
        conversation.arrive(big + hello)
        #expect(conversation.statuses == [200])
        conversation.makeWritable(room: 100_000)
        #expect(conversation.text.hasSuffix("hello") == false)
        conversation.makeWritable()
        #expect(conversation.statuses == [200, 200])
    }

    @Test func clientMustWait_whenItPipelinesDuringARequest() {
        let conversation = Conversation { $0.pipelinedBytesMax = 1_000 }
        conversation.respondsAtOnce = false
        conversation.arrive(hello)
        for _ in 0..<100 { conversation.arrive(hello) }
        #expect(!conversation.wantsInput)
        for _ in 0..<101 { conversation.respond() }
        #expect(conversation.statuses.count == 101)
    }

    @Test func readsStop_whenTheTurnIsOver() {
        var state = ConnectionState(ConnectionRules(HTTPServerConfiguration(addresses: [])))
        state.becameReadable()
        var reads = 0
        while case .read = state.next() {
            reads += 1
            [UInt8]("A".utf8).withUnsafeBytes { state.received($0, hasMore: reads < 100) }
        }
        let hasMore = state.hasUnpolledInput
        #expect(reads == Intake.readsPerTurnMax)
        #expect(hasMore)
    }
}

@Suite("A body is read only for admitted requests")
struct AdmissionTests {
    private let head = "POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n"
    private let largeHead = "POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: 5000\r\n"

    @Test func headIsChecked_beforeItsBodyIsRead() {
        let conversation = Conversation()
        conversation.arrive(largeHead + "\r\nbo")
        #expect(conversation.admitting.count == 1)
        #expect(!conversation.wantsInput)
        conversation.admit()
        conversation.arrive(String(repeating: "d", count: 4_998))
        #expect(conversation.text.hasSuffix("/private 5000"))
        #expect(conversation.isIdle)
    }

    @Test func continueIsSent_whenTheHeadIsAdmitted() {
        let conversation = Conversation()
        conversation.arrive(head + "Expect: 100-continue\r\n\r\n")
        #expect(conversation.statuses == [])
        conversation.admit()
        #expect(conversation.statuses == [100])
        conversation.arrive("body")
        #expect(conversation.statuses == [100, 200])
    }

    @Test func handlerDecides_whenTheBodyIsTooLarge() {
        let conversation = Conversation()
        conversation.arrive("POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: 9999999\r\n\r\n")
        #expect(conversation.statuses == [413])
        #expect(conversation.phase == .lingering)
    }
}

@Suite("Reports of a request match what was sent")
struct CompletionTests {
    @Test func exchangeIsOver_whenItsLastByteIsSent() {
        let conversation = Conversation()
        conversation.room = 1_000
        conversation.arrive(big)
        #expect(conversation.finished.isEmpty)
        conversation.makeWritable()
        #expect(conversation.finished.map(\.isComplete) == [true])
    }

    @Test func exchangeIsIncomplete_whenTheClientLeavesEarly() {
        let conversation = Conversation()
        conversation.room = 200_000
        conversation.arrive(hello + big + big)
        conversation.fail()
        #expect(conversation.finished.map(\.isComplete) == [true, true, false])
    }
}

@Suite("A closed descriptor is not used")
struct ClosedTests {
    @Test func nothingIsRead_whenTheSendFails() {
        let conversation = Conversation()
        conversation.room = 1_000
        conversation.arrive(big)
        conversation.breaksAtSend = true
        conversation.arrive(hello)
        conversation.makeWritable()
        #expect(conversation.closed?.reset == false)
        conversation.arrive(hello)
        conversation.makeWritable()
        conversation.pass(.seconds(100))
        conversation.end()
        #expect(conversation.callsAfterClose == 0)
        #expect(conversation.nextDeadline == nil)
    }
}
