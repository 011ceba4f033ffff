import HTTPTypes
import HTTPWire
import Testing

@Suite("Field lines are checked byte by byte (RFC 9112 section 5)")
struct FieldSyntaxTests {
    struct Example: Sendable {
        var line: String
        var value: String
    }

    static let examples = [
        Example(line: "X-A:b", value: "b"),
        Example(line: "x-a: b", value: "b"),
        Example(line: "X-A: \t b \t ", value: "b"),
        Example(line: "X-A:", value: ""),
        Example(line: "X-A:   \t", value: ""),
        Example(line: "X-A: b  c\td", value: "b  c\td"),
        Example(line: "X-A: :b: \"c\"", value: ":b: \"c\""),
        Example(line: "X-A: \u{E9}\u{301}", value: "\u{E9}\u{301}"),
        Example(line: "X-A:\u{301}b", value: "\u{301}b"),
    ]

    @Test(arguments: examples)
    func value_isTrimmed_whenValid(_ example: Example) throws {
        let request = try onlyRequest(Wire.request(fields: [example.line]))
        #expect(request.fields[HTTPField.Name("X-A")!] == example.value)
        #expect(request.fields.count == 2)
    }

    @Test(arguments: [
        "X-A : b", "X-A\t: b", ": b", "X-A", "X A: b", "X(A): b", "X\u{E9}: b", "X-A\u{301}: b", "X-A: b\nX-B: c",
        "X-A: b\n", "X-A: b\rX-B: c", "X-A: b\r", "X-A: \0", "X-A: b\0c", "\0: b", "X-A: \u{7F}", "X-A: \u{0B}",
        "X-A: \u{1B}",
        "\nX-A: b", "X-A\0: b", "X@A: b", "\"X\": b",
    ])
    func line_isRefused_whenMalformed(_ line: String) {
        expectRefused(Wire.request(fields: [line]), .malformedField)
    }

    @Test(arguments: [" b", "\tb", " ", " X-A: b"])
    func line_isRefused_whenFolded(_ line: String) {
        expectRefused(Wire.request(fields: ["X-A: a", line]), .lineFolding)
        expectRefused(Wire.request(host: nil, fields: [line, "Host: a"]), .lineFolding)
    }

    @Test func emptyLine_isRefused_whenNotCRLF() {
        expectRefused(Wire.bytes("GET / HTTP/1.1\r\nHost: a\r\n\n"), .malformedField)
        expectRefused(Wire.bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"), .malformedField)
    }

    @Test(arguments: ["Authorization", "Content-Type", "Origin", "content-length"])
    func line_isRefused_whenAFieldThatOccursOnceIsRepeated(_ name: String) {
        expectRefused(Wire.request(fields: ["\(name): 1", "\(name.uppercased()): 1"]), .duplicateField)
    }
}

@Suite("Heads have limits (RFC 6585 section 5)")
struct HeadLimitsTests {
    /// A header section of exactly `count` bytes.
    private func request(headerBytes count: Int) -> [UInt8] {
        let fixed = "Host: a\r\nX: \r\n\r\n".utf8.count
        return Wire.request(host: "a", fields: ["X: " + String(repeating: "v", count: count - fixed)])
    }

    @Test func header_isRefused_whenTooLarge() throws {
        let request = try onlyRequest(request(headerBytes: 32 * 1024))
        #expect(request.fields.count == 2)
        expectRefused(self.request(headerBytes: 32 * 1024 + 1), .headerTooLarge)
        #expect(WireError(.headerTooLarge).status.code == 431)
    }

    @Test func header_isRefused_beforeItsEnd() {
        expectRefused(
            Wire.bytes("GET / HTTP/1.1\r\nX: " + String(repeating: "v", count: 32 * 1024)), .headerTooLarge)
        expectRefused(
            Wire.bytes("GET / HTTP/1.1\r\n" + String(repeating: "v", count: 32 * 1024)), .headerTooLarge)
    }

    @Test func fields_areRefused_whenTooMany() throws {
        let lines = (1..<100).map { "X-\($0): v" }
        let request = try onlyRequest(Wire.request(fields: lines))
        #expect(request.fields.count == 100)
        expectRefused(Wire.request(fields: lines + ["X-100: v"]), .tooManyFields)
        #expect(WireError(.tooManyFields).status.code == 431)
    }

    @Test func limits_areConfigurable() throws {
        var limits = WireLimits()
        limits.targetBytesMax = 5
        limits.fieldsMax = 2
        limits.headerBytesMax = 40
        let request = try onlyRequest(Wire.request("GET /abcd HTTP/1.1", fields: ["X: 1"]), limits: limits)
        #expect(request.path == "/abcd")
        expectRefused(Wire.request("GET /abcde HTTP/1.1"), .targetTooLong, limits: limits)
        expectRefused(Wire.request(fields: ["X: 1", "Y: 1"]), .tooManyFields, limits: limits)
        expectRefused(Wire.request(fields: ["X: 1234567890123456789"]), .headerTooLarge, limits: limits)
    }

    /// A parser that starts again with every piece needs seconds for this.
    @Test func longHead_takesLinearTime_byteByByte() {
        let clock = ContinuousClock()
        let bytes = request(headerBytes: 32 * 1024)
        let pieces = bytes.map { [$0] }
        let elapsed = clock.measure { _ = Transcript(pieces) }
        #expect(elapsed < .seconds(1))
    }
}

@Suite("Lists in field values (RFC 9110 section 5.6.1)")
struct ListTests {
    @Test(arguments: [
        ("", []), (" \t", []), (",", []), ("a", ["a"]), (" a\t", ["a"]), ("a,b", ["a", "b"]),
        (",, a ,\tb b , ", ["a", "b b"]), ("ü , é;q=1", ["ü", "é;q=1"]), ("\u{A0}a", ["\u{A0}a"]),
        (",\u{301}", ["\u{301}"]),
    ])
    func elements_areTrimmed_andEmptyOnesSkipped(_ value: String, _ elements: [String]) {
        #expect(value.listElements() == elements)
    }

    @Test func parameters_areSeparatedBySemicolons() {
        #expect("gzip ; q=0.5;, x".listElements(separator: UInt8(ascii: ";")) == ["gzip", "q=0.5", ", x"])
    }
}
