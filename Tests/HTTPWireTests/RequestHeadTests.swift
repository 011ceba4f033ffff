import HTTPTypes
import HTTPWire
import Testing

@Suite("A head's fields are found without strings")
struct HeadFieldTests {
    private static func head(_ fields: [String]) throws -> RequestHead {
        try ResponseEncoderTests.head("GET / HTTP/1.1", fields)
    }

    @Test func field_isFound_inAnyCase() throws {
        let head = try Self.head(["AUTHORIZATION: Bearer a", "x-user-ID: 7"])
        #expect(head[.authorization] == "Bearer a")
        #expect(head.contains(.authorization))
        #expect(head.bytes(of: .authorization).map { $0.elementsEqual("Bearer a".utf8) } == true)
        #expect(head[HTTPField.Name("X-User-Id")!] == "7")
    }

    @Test func field_isNil_whenAbsent() throws {
        let head = try Self.head(["Authorizatio: a", "Authorizations: b", "X: "])
        #expect(head[.authorization] == nil)
        #expect(!head.contains(.authorization))
        #expect(head.bytes(of: .authorization) == nil)
        #expect(head.values(of: .authorization) == [])
        #expect(head[HTTPField.Name("X")!] == "")
    }

    @Test func lines_areOneList_whenRepeated() throws {
        let head = try Self.head(["If-Match: \"1\"", "Cookie: a=1", "if-match: \"2\", \"3\"", "Cookie: b=2"])
        #expect(head[.ifMatch] == "\"1\", \"2\", \"3\"")
        #expect(head.values(of: .ifMatch) == ["\"1\"", "\"2\", \"3\""])
        #expect(head.bytes(of: .ifMatch) == nil)
        #expect(head[.cookie] == "a=1; b=2")
    }

    @Test func invalidBytes_areReplaced_whenNotUTF8() throws {
        var parser = RequestParser()
        parser.append(Wire.bytes("GET / HTTP/1.1\r\nHost: a\r\nX: a") + [0xFF] + Wire.bytes("b\r\n\r\n"))
        guard case .head(let head)? = try parser.nextEvent() else { return #expect(Bool(false)) }
        #expect(head[HTTPField.Name("X")!] == "a\u{FFFD}b")
        #expect(head.bytes(of: HTTPField.Name("X")!).map(Array.init) == [0x61, 0xFF, 0x62])
    }

    @Test func head_outlivesTheParsersBuffer() throws {
        var parser = RequestParser()
        parser.append(Wire.request("GET /first HTTP/1.1") + Wire.request("GET /sec"))
        guard case .head(let head)? = try parser.nextEvent() else { return #expect(Bool(false)) }
        parser.append(Array(repeating: 0x61, count: 4096))
        parser.close()
        #expect(head.path.elementsEqual("/first".utf8))
        #expect(head.authority == "example.com")
    }

    @Test func head_holdsItsOwnBytesOnly_whenTheBufferIsLarge() throws {
        var parser = RequestParser()
        let (first, second) = (Wire.request("GET /first HTTP/1.1"), Wire.request("GET /second HTTP/1.1"))
        let rest = [UInt8](repeating: 0x61, count: 4_096)
        parser.append(first + second + rest)
        for (bytes, path) in [(first, "/first"), (second, "/second")] {
            guard case .head(let head)? = try parser.nextEvent() else { return #expect(Bool(false)) }
            #expect((bytes.count..<(bytes.count + 200)).contains(head.heldByteCount))
            #expect(head.path.elementsEqual(path.utf8))
            #expect(head.authority == "example.com")
            guard case .end? = try parser.nextEvent() else { return #expect(Bool(false)) }
        }
    }

    @Test func head_printsNoSecret() throws {
        let head = try Self.head(["Authorization: Bearer hunter2"])
        var dumped = ""
        dump(head, to: &dumped)
        #expect("\(head)" == "‹GET request, 2 fields›")
        for text in ["\(head)", String(reflecting: head), dumped] {
            #expect(!text.contains("hunter2") && !text.contains("104"))
        }
    }
}

@Suite("A target is decoded after it is split (RFC 3986 section 2.4)")
struct TargetDecodingTests {
    private static func head(_ target: String, _ method: String = "GET") throws -> RequestHead {
        try ResponseEncoderTests.head("\(method) \(target) HTTP/1.1")
    }

    struct Example: Sendable {
        var encoded: String
        var text: String
    }

    static let examples = [
        Example(encoded: "", text: ""),
        Example(encoded: "a%2Fb", text: "a/b"),
        Example(encoded: "%C3%A9+%e2%82%AC", text: "é+€"),
        Example(encoded: "%2e%2E", text: ".."),
        Example(encoded: "%25%34%31", text: "%41"),
        Example(encoded: "e%CC%81", text: "e\u{301}"),
    ]

    @Test(arguments: examples) func decoding_yieldsText(_ example: Example) throws {
        let text = try PercentEncoding.decode(Array(example.encoded.utf8)[...])
        #expect(Array(text.unicodeScalars) == Array(example.text.unicodeScalars))
    }

    @Test func path_isRoot_whenAnAbsoluteTargetHasNone() throws {
        #expect(try Self.head("http://a").path.elementsEqual("/".utf8))
        #expect(try Self.head("*", "OPTIONS").path.isEmpty)
    }

    private static let encodings = [
        "%00", "a%00b", "%FF", "%C3", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "a%80b", "%", "%4", "%4g", "%g4", "a%",
        "%%41",
    ]

    @Test(arguments: encodings.map { Array($0.utf8) } + [[0x00], [0x61, 0x00], [0x80], [0x61, 0xFF]])
    func decoding_isStrict_andRefused_whenTheResultIsNotText(_ bytes: [UInt8]) {
        #expect(throws: WireError(.invalidPercentEncoding)) { try PercentEncoding.decode(bytes[...]) }
        #expect(WireError(.invalidPercentEncoding).status.code == 400)
    }

    @Test func plus_isASpace_inQueriesOnly() throws {
        #expect(try PercentEncoding.decode(Array("a+b".utf8)[...]) == "a+b")
        #expect(try PercentEncoding.decode(Array("a+b".utf8)[...], plusIsSpace: true) == "a b")
    }

    struct QueryExample: Sendable {
        var query: String
        var items: [QueryItem]
    }

    static let queries = [
        QueryExample(query: "", items: []),
        QueryExample(query: "?", items: []),
        QueryExample(query: "?&&", items: []),
        QueryExample(query: "?a", items: [QueryItem(name: "a", value: "")]),
        QueryExample(query: "?a=", items: [QueryItem(name: "a", value: "")]),
        QueryExample(query: "?=a", items: [QueryItem(name: "", value: "a")]),
        QueryExample(query: "?a=b=c", items: [QueryItem(name: "a", value: "b=c")]),
        QueryExample(query: "?a=1&a=2", items: [QueryItem(name: "a", value: "1"), QueryItem(name: "a", value: "2")]),
        QueryExample(query: "?osVersion.gte=17.2", items: [QueryItem(name: "osVersion.gte", value: "17.2")]),
        QueryExample(query: "?a+b=c+%2B%26%3D", items: [QueryItem(name: "a b", value: "c +&=")]),
    ]

    @Test(arguments: queries)
    func query_isDecoded_byItem(_ example: QueryExample) throws {
        #expect(try Self.head("/" + example.query).queryItems() == example.items)
    }

    @Test(arguments: ["/?a=%00", "/?%00", "/?a=%FF"])
    func query_isRefused_whenItIsNotText(_ target: String) throws {
        let head = try Self.head(target)
        #expect(throws: WireError(.invalidPercentEncoding)) { try head.queryItems() }
    }
}
