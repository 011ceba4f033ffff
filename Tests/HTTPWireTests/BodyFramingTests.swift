import HTTPTypes
import HTTPWire
import Testing

@Suite("The end of a body is unambiguous (RFC 9112 section 6)")
struct BodyFramingTests {
    @Test(arguments: ["GET", "POST", "DELETE", "OPTIONS", "BREW"])
    func body_isAbsent_whenNothingAnnouncesIt(_ method: String) throws {
        let request = try onlyRequest(Wire.request("\(method) / HTTP/1.1"))
        #expect(request.framing == .none)
        #expect(request.body.isEmpty)
    }

    @Test(arguments: ["GET", "HEAD", "POST", "DELETE"])
    func body_hasContentLength_whateverTheMethod(_ method: String) throws {
        let request = try onlyRequest(
            Wire.request("\(method) / HTTP/1.1", fields: ["content-LENGTH: 5"], body: "a\r\n\0b"))
        #expect(request.framing == .length(5))
        #expect(request.bodyText == "a\r\n\0b")
    }

    @Test(arguments: ["0", "00", "000"])
    func body_isEmpty_whenLengthIsZero(_ length: String) throws {
        let request = try onlyRequest(Wire.request("POST / HTTP/1.1", fields: ["Content-Length: \(length)"]))
        #expect(request.framing == .length(0))
    }

    @Test func length_isDecimal_whenItHasLeadingZeros() throws {
        let request = try onlyRequest(
            Wire.request("POST / HTTP/1.1", fields: ["Content-Length: 010"], body: "0123456789"))
        #expect(request.bodyText == "0123456789")
    }

    @Test(arguments: [
        "", "+5", "-5", "5 5", "5,5", "5, 5", "5;", "0x5", "5a", "a", "5.0", "\u{0665}", "\"5\"", "9223372036854775808",
        "18446744073709551621", "99999999999999999999999999",
    ])
    func length_isRefused_whenNotOneNumber(_ length: String) {
        expectRefused(
            Wire.request("POST / HTTP/1.1", fields: ["Content-Length: \(length)"], body: "01234"), .invalidContentLength
        )
    }

    @Test(arguments: ["5", "6"])
    func length_isRefused_whenRepeated(_ second: String) {
        expectRefused(
            Wire.request("POST / HTTP/1.1", fields: ["Content-Length: 5", "Content-Length: \(second)"], body: "01234"),
            .duplicateField)
    }

    @Test(arguments: ["chunked", "Chunked", "CHUNKED", " chunked\t"])
    func body_isChunked_whenTheLastCodingIs(_ coding: String) throws {
        let request = try onlyRequest(
            Wire.request("POST / HTTP/1.1", fields: ["Transfer-Encoding: \(coding)"], body: "5\r\nhello\r\n0\r\n\r\n"))
        #expect(request.framing == .chunked)
        #expect(request.bodyText == "hello")
    }

    @Test(arguments: [
        ["identity"], ["gzip"], ["gzip, chunked"], ["xchunked"], ["chunkedx"], ["identity, chunked"], ["chunked;q=1"],
        ["gzip", "chunked"], ["x ;y=z"],
    ])
    func coding_isNotSupported_whenUnknown(_ codings: [String]) {
        expectRefused(
            Wire.request("POST / HTTP/1.1", fields: codings.map { "Transfer-Encoding: \($0)" }),
            .unsupportedTransferCoding)
        #expect(WireError(.unsupportedTransferCoding).status.code == 501)
    }

    @Test(arguments: [
        [""], [","], ["chunked, chunked"], ["chunked", "chunked"], ["chunked, gzip"], ["chunked", "identity"],
        ["chunked,"], [", chunked"], ["\"chunked\""], ["chun ked"], ["chunked\u{301}"], ["chunked", ""],
    ])
    func coding_isRefused_whenChunkedIsNotLastAndOnce(_ codings: [String]) {
        expectRefused(
            Wire.request("POST / HTTP/1.1", fields: codings.map { "Transfer-Encoding: \($0)" }),
            .invalidTransferEncoding)
    }

    @Test func coding_isRefused_inHTTP10() {
        expectRefused(
            Wire.request("POST / HTTP/1.0", fields: ["Transfer-Encoding: chunked"], body: "0\r\n\r\n"),
            .invalidTransferEncoding)
    }

    @Test func lengthAndCoding_areRefused_together() {
        let fields = ["Content-Length: 5", "Transfer-Encoding: chunked"]
        for fields in [fields, fields.reversed()] {
            expectRefused(Wire.request("POST / HTTP/1.1", fields: fields, body: "0\r\n\r\n"), .ambiguousBodyLength)
        }
        #expect(WireError(.ambiguousBodyLength).status.code == 400)
    }
}

@Suite("A body is limited by its route")
struct BodyLimitTests {
    @Test func body_isRefused_whenItsLengthIsAboveTheLimit() throws {
        let request = try onlyRequest(
            Wire.request("POST / HTTP/1.1", fields: ["Content-Length: 5"], body: "hello"), bodyBytesMax: 5)
        #expect(request.bodyText == "hello")
        expectRefused(Wire.request("POST / HTTP/1.1", fields: ["Content-Length: 6"]), .bodyTooLarge, bodyBytesMax: 5)
        #expect(WireError(.bodyTooLarge).status.code == 413)
    }

    @Test func body_isRefused_whenItsChunksAreAboveTheLimit() throws {
        let request = try onlyRequest(Wire.chunked("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), bodyBytesMax: 5)
        #expect(request.bodyText == "hello")
        expectRefused(Wire.chunked("2\r\nhe\r\n4\r\n"), .bodyTooLarge, bodyBytesMax: 5)
        expectRefused(Wire.chunked("7fffffffffffffff\r\n"), .bodyTooLarge, bodyBytesMax: 5)
        expectRefused(Wire.chunked("1\r\na\r\n7fffffffffffffff\r\n"), .bodyTooLarge, bodyBytesMax: 5)
    }

    @Test func limit_isReset_withEachRequest() throws {
        var parser = RequestParser()
        let request = Wire.request("POST / HTTP/1.1", fields: ["Content-Length: 70000"])
        parser.append(request + Array(repeating: 0x61, count: 70_000) + request)
        guard case .head? = try parser.nextEvent() else { return #expect(Bool(false)) }
        parser.bodyBytesMax = 70_000
        while let event = try parser.nextEvent() {
            if case .end = event { break }
        }
        guard case .head? = try parser.nextEvent() else { return #expect(Bool(false)) }
        #expect(parser.bodyBytesMax == WireLimits().bodyBytesDefault)
        #expect(throws: WireError(.bodyTooLarge)) { try Self.next(&parser) }
    }

    private static func next(_ parser: inout RequestParser) throws {
        _ = try parser.nextEvent()
    }
}
