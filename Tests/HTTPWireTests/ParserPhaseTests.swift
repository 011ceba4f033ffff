import HTTPTypes
import HTTPWire
import Testing

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

@Suite("An error has the status of its response")
struct WireErrorTests {
    @Test(arguments: WireError.Reason.allCases)
    func error_hasAnErrorStatus_aCodeAndASentence(_ reason: WireError.Reason) {
        let error = WireError(reason)
        #expect([400, 413, 414, 417, 431, 501, 505].contains(error.status.code))
        #expect(error.detail.hasSuffix(".") || error.detail.hasSuffix("?"))
        #expect("\(error)" == reason.rawValue)
        #expect(reason.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") })
    }
}
