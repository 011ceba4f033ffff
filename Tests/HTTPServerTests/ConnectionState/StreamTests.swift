import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("Only its producer writes to a streamed response")
struct StreamTests {
    private let request = "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"

    private func begin(
        _ configure: (inout HTTPServerConfiguration) -> Void = { _ in }
    ) throws -> (Conversation, Exchange) {
        let conversation = Conversation(configure)
        conversation.respondsAtOnce = false
        conversation.arrive(request)
        let exchange = try #require(conversation.running.first)
        conversation.beginStream()
        return (conversation, exchange)
    }

    @Test func connectionIsReset_whenTheProducerIsSilentBeyondTheHandlersDeadline() throws {
        let (conversation, exchange) = try begin { $0.timeouts.handler = .seconds(30) }
        conversation.pass(.seconds(29))
        conversation.stream("row", of: exchange)
        conversation.pass(.seconds(29))
        #expect(conversation.closed == nil)
        conversation.pass(.seconds(1))
        #expect(conversation.closed?.reset == true)
        #expect(conversation.statuses == [200])
        #expect(conversation.cancelled.count == 1)
    }

    @Test func noOtherResponseFollows_whenAnythingFails() throws {
        let (conversation, _) = try begin()
        conversation.arrive("nonsense\r\n\r\n")
        conversation.setMemoryShort(true)
        conversation.pass(.seconds(3_600))
        #expect(conversation.statuses == [200])
        #expect(conversation.closed?.reset == true)
    }

    @Test func producerWaits_whileItsReaderIsSlow_andContinues() throws {
        let (conversation, exchange) = try begin { $0.outputHighWatermarkBytes = 10_000 }
        conversation.room = 0
        conversation.stream(String(repeating: "r", count: 9_000), of: exchange)
        #expect(!conversation.mustWait(exchange))
        conversation.stream(String(repeating: "r", count: 9_000), of: exchange)
        #expect(conversation.mustWait(exchange))
        conversation.makeWritable(room: 10_000)
        #expect(conversation.resumedStreams == 0)
        conversation.makeWritable(room: 5_000)
        #expect(conversation.resumedStreams == 1)
        conversation.makeWritable()
        #expect(conversation.resumedStreams == 1)
    }

    @Test func producerIsWoken_whenItsClientLeaves() throws {
        let (conversation, exchange) = try begin { $0.outputHighWatermarkBytes = 10_000 }
        conversation.room = 0
        conversation.stream(String(repeating: "r", count: 20_000), of: exchange)
        #expect(conversation.mustWait(exchange))
        conversation.fail()
        #expect(conversation.resumedStreams == 1)
        #expect(!conversation.mustWait(exchange))
    }

    @Test func bytesAreCounted_withoutTheirChunks() throws {
        let (conversation, exchange) = try begin()
        conversation.stream("0123456789", of: exchange)
        conversation.endStream(of: exchange)
        #expect(conversation.finished.map(\.outcome.responseBodyByteCount) == [10])
    }
}
