import HTTPTypes
import HTTPWire
import Testing

@Suite("Chunked bodies (RFC 9112 section 7.1)")
struct ChunkedBodyTests {
    @Test(arguments: [
        "5\r\nhello\r\n0\r\n\r\n",
        "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n000\r\n\r\n",
        "0000000000000005\r\nhello\r\n0\r\n\r\n",
        "5;a\r\nhello\r\n0\r\n\r\n",
        "5 ; a=b;c=\"d;e\"\r\nhello\r\n0 ;x\r\n\r\n",
        "5\t;\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nX-A: b\r\nContent-Length: 7\r\n\r\n",
    ])
    func body_isDecoded_whenValid(_ body: String) throws {
        let request = try onlyRequest(Wire.chunked(body))
        #expect(request.bodyText == "hello")
        #expect(request.fields[HTTPField.Name("X-A")!] == nil)
    }

    @Test func size_isHexadecimal_inAnyCase() throws {
        let data = String(repeating: "x", count: 0xAB)
        for size in ["ab", "AB", "aB", "0ab"] {
            let request = try onlyRequest(Wire.chunked("\(size)\r\n\(data)\r\n0\r\n\r\n"))
            #expect(request.bodyText == data)
        }
    }

    @Test func data_mayContainLineEndings() throws {
        let request = try onlyRequest(Wire.chunked("9\r\n\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n"))
        #expect(request.bodyText == "\r\n0\r\n\r\n\r\n")
    }

    @Test(arguments: [
        "\r\n", "g\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\na\r\n", "1 1\r\n", "1\na\r\n", "1\ra\r\n",
        "1\r\nab\r\n", "1\r\na\n", "1\r\na\rb", "1\r\na0\r\n\r\n", ";a\r\n", "1;a\nb\r\n", "1;a\rb\r\n", "1;\0\r\n",
        "1,a\r\n", "10000000000000000\r\n", "ffffffffffffffff\r\n", "8000000000000000\r\n",
        "00000000000000001\r\na\r\n",
        "1\r\na\r\n\r\n", "1\u{301}\r\n", "\u{0661}\r\n", "1;\u{7F}\r\n",
    ])
    func body_isRefused_whenMalformed(_ body: String) {
        expectRefused(Wire.chunked(body), .malformedChunk)
    }

    @Test(arguments: [
        "X-A : b\r\n\r\n", "X-A: b\n\r\n", "\n", "\r\r\n", ": b\r\n", "X-A: \0\r\n", "GET / HTTP/1.1\r\n\r\n",
    ])
    func trailer_isRefused_whenMalformed(_ trailer: String) {
        expectRefused(Wire.chunked("0\r\n\(trailer)"), .malformedField)
    }

    @Test func trailer_isRefused_whenFolded() {
        expectRefused(Wire.chunked("0\r\nX-A: b\r\n c\r\n\r\n"), .lineFolding)
    }

    @Test func trailer_isRefused_whenTooLarge() throws {
        let fixed = "X: \r\n\r\n".utf8.count
        let longest = String(repeating: "v", count: WireLimits().trailerBytesMax - fixed)
        let request = try onlyRequest(Wire.chunked("0\r\nX: \(longest)\r\n\r\n"))
        #expect(request.framing == .chunked)
        expectRefused(Wire.chunked("0\r\nX: \(longest)v\r\n\r\n"), .trailerTooLarge)
        let lines = (0...WireLimits().fieldsMax).map { "X-\($0): v\r\n" }.joined()
        expectRefused(Wire.chunked("0\r\n\(lines)\r\n"), .trailerTooLarge)
    }

    @Test func extensions_areRefused_whenTooLargeTogether() throws {
        var limits = WireLimits()
        limits.chunkExtensionBytesMax = 10
        let chunk = "1;1234\r\na\r\n"
        let request = try onlyRequest(Wire.chunked("\(chunk)\(chunk)0\r\n\r\n"), limits: limits)
        #expect(request.bodyText == "aa")
        expectRefused(Wire.chunked("\(chunk)\(chunk)1;"), .chunkExtensionsTooLarge, limits: limits)
        expectRefused(
            Wire.chunked("1" + String(repeating: " ", count: 11)), .chunkExtensionsTooLarge, limits: limits)
        #expect(WireError(.chunkExtensionsTooLarge).status.code == 400)
    }
}
