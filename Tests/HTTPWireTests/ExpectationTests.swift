import HTTPTypes
import HTTPWire
import Testing

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
