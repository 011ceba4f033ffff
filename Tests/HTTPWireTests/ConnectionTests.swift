import HTTPTypes
import HTTPWire
import Testing

@Suite("Persistence (RFC 9112 section 9.3)")
struct PersistenceTests {
    @Test(arguments: [
        [], ["Connection: keep-alive"], ["Connection: upgrade"], ["Connection: closed"], ["Connection: x-close, ,"],
        ["Connection: \"close\""], ["Connection: "],
    ])
    func connection_persists_whenHTTP11DoesNotClose(_ fields: [String]) throws {
        let request = try onlyRequest(Wire.request(fields: fields))
        #expect(request.isKeepAlive)
    }

    @Test(arguments: [
        ["Connection: close"], ["connection: CLOSE"], ["Connection: keep-alive, close"],
        ["Connection: close,keep-alive"],
        ["Connection: upgrade ,\tClose , x"], ["Connection: keep-alive", "Connection: close"], ["Connection: ,,close"],
    ])
    func connection_isClosed_whenAsked(_ fields: [String]) throws {
        let transcript = transcript(Wire.request(fields: fields))
        #expect(transcript.requests.count == 1)
        #expect(transcript.requests.first?.isKeepAlive == false)
        #expect(transcript.isClosed)
    }

    @Test func http10_isClosed_unlessItAsks() throws {
        #expect(transcript(Wire.request("GET / HTTP/1.0")).isClosed)
        #expect(transcript(Wire.request("GET / HTTP/1.0", fields: ["Connection: keep-alive, close"])).isClosed)
        let request = try onlyRequest(Wire.request("GET / HTTP/1.0", fields: ["Connection: Keep-Alive"]))
        #expect(request.isKeepAlive)
    }

    @Test func body_isRead_beforeTheConnectionIsClosed() throws {
        let request = try onlyRequest(
            Wire.request("POST / HTTP/1.1", fields: ["Connection: close", "Content-Length: 5"], body: "hello"))
        #expect(request.bodyText == "hello")
    }
}

@Suite("Expectations (RFC 9110 section 10.1.1)")
struct ExpectationTests {
    @Test(arguments: ["100-continue", "100-Continue", " , 100-continue"])
    func continue_isExpected_whenABodyFollows(_ expectation: String) throws {
        let expect = "Expect: \(expectation)"
        let length = try onlyRequest(Wire.request("PUT / HTTP/1.1", fields: ["Content-Length: 1", expect], body: "a"))
        #expect(length.expectsContinue)
        let chunked = try onlyRequest(Wire.chunked("0\r\n\r\n", [expect]))
        #expect(chunked.expectsContinue)
    }

    @Test func continue_isNotExpected_withoutABody() throws {
        let none = try onlyRequest(Wire.request(fields: ["Expect: 100-continue"]))
        #expect(!none.expectsContinue)
        let empty = try onlyRequest(Wire.request(fields: ["Expect: 100-continue", "Content-Length: 0"]))
        #expect(!empty.expectsContinue)
    }

    @Test func continue_isNotExpected_inHTTP10() throws {
        let fields = ["Connection: keep-alive", "Expect: 100-continue", "Content-Length: 1"]
        let request = try onlyRequest(Wire.request("PUT / HTTP/1.0", fields: fields, body: "a"))
        #expect(!request.expectsContinue)
    }

    @Test(arguments: ["200-ok", "100-continue, x", "x=y", "100-continue;q", "100"])
    func expectation_isRefused_whenUnknown(_ expectation: String) {
        expectRefused(Wire.request(fields: ["Expect: \(expectation)"]), .unsupportedExpectation)
        #expect(WireError(.unsupportedExpectation).status.code == 417)
    }

    @Test func tooLargeBody_isRefused_beforeTheContinue() throws {
        var parser = RequestParser()
        parser.append(Wire.request("PUT / HTTP/1.1", fields: ["Expect: 100-continue", "Content-Length: 70000"]))
        guard case .head(let head)? = try parser.nextEvent() else { return #expect(Bool(false)) }
        #expect(head.expectsContinue)
        let refusal = #expect(throws: WireError.self) { try Self.next(&parser) }
        #expect(refusal?.reason == .bodyTooLarge)
    }

    private static func next(_ parser: inout RequestParser) throws {
        _ = try parser.nextEvent()
    }
}

@Suite("The state of a connection")
struct ParserPhaseTests {
    @Test func phase_followsTheInput() throws {
        var parser = RequestParser()
        #expect(parser.phase == .idle)
        parser.append(Wire.bytes("\r\n"))
        #expect(try Self.events(&parser) == 0)
        #expect(parser.phase == .idle)
        parser.append(Wire.bytes("P"))
        #expect(parser.phase == .head)
        #expect(try Self.events(&parser) == 0)
        #expect(parser.phase == .head)
        parser.append(Wire.bytes("UT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na"))
        #expect(try Self.events(&parser) == 2)
        #expect(parser.phase == .body)
        parser.append(Wire.bytes("b"))
        #expect(try Self.events(&parser) == 2)
        #expect(parser.phase == .idle)
        #expect(parser.unreadByteCount == 0)
    }

    @Test func pipelinedRequest_waits_untilItIsRequested() throws {
        var parser = RequestParser()
        parser.append(Wire.request() + Wire.tail)
        guard case .head? = try parser.nextEvent(), case .end? = try parser.nextEvent() else {
            return #expect(Bool(false))
        }
        #expect(parser.unreadByteCount == Wire.tail.count)
        #expect(parser.phase == .head)
        guard case .head(let head)? = try parser.nextEvent() else { return #expect(Bool(false)) }
        #expect(head.path.elementsEqual("/tail".utf8))
    }

    @Test func close_endsParsing_whateverWasReceived() throws {
        var parser = RequestParser()
        parser.append(Wire.request() + Wire.tail)
        _ = try parser.nextEvent()
        parser.close()
        parser.append(Wire.tail)
        #expect(try Self.events(&parser) == 0)
        #expect(parser.phase == .closed)
        #expect(parser.unreadByteCount == 0)
    }

    @Test(arguments: ["", "\r\n", "\r"])
    func finish_succeeds_betweenRequests(_ text: String) throws {
        var parser = RequestParser()
        parser.append(Wire.request() + Wire.bytes(text))
        #expect(try Self.events(&parser) == 2)
        try parser.finish()
        #expect(parser.phase == .closed)
    }

    @Test(arguments: ["G", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell"])
    func finish_fails_inTheMiddleOfARequest(_ text: String) throws {
        var parser = RequestParser()
        parser.append(Wire.bytes(text))
        _ = try Self.events(&parser)
        #expect(throws: WireError(.truncatedRequest)) { try Self.finish(&parser) }
        #expect(parser.phase == .failed)
        #expect(throws: WireError(.truncatedRequest)) { try Self.events(&parser) }
    }

    @discardableResult
    private static func events(_ parser: inout RequestParser) throws -> Int {
        var count = 0
        while try parser.nextEvent() != nil { count += 1 }
        return count
    }

    private static func finish(_ parser: inout RequestParser) throws { try parser.finish() }
}
