import HTTPTypes
import HTTPWire
import Testing

@Suite("Only the encoder frames responses (RFC 9112 section 6)")
struct ResponseEncoderTests {
    static let date = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)

    /// The head of a request, from the parser.
    static func head(_ line: String, _ fields: [String] = []) throws -> RequestHead {
        var parser = RequestParser()
        parser.append(Wire.request(line, fields: fields))
        guard case .head(let head)? = try parser.nextEvent() else { throw Missing() }
        return head
    }

    struct Missing: Error {}

    private func encode(
        _ line: String = "GET / HTTP/1.1", status: HTTPResponse.Status = .ok, fields: HTTPFields = [:],
        body: String = ""
    ) throws -> String {
        var buffer: [UInt8] = []
        let encoder = ResponseEncoder(for: try Self.head(line))
        try encoder.encode(status, fields, body: Array(body.utf8).span, date: Self.date, into: &buffer)
        return String(decoding: buffer, as: UTF8.self)
    }

    @Test func response_hasLengthAndDate_whenWhole() throws {
        let fields: HTTPFields = [.contentType: "application/json", .eTag: "\"7\""]
        #expect(
            try encode(fields: fields, body: "{}") == """
                HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\n\
                ETag: "7"\r\nContent-Length: 2\r\n\r\n{}
                """)
    }

    @Test func repeatedFields_areKept() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .vary, value: "Origin"))
        fields.append(HTTPField(name: .vary, value: "Accept-Encoding"))
        #expect(try encode(fields: fields).contains("Vary: Origin\r\nVary: Accept-Encoding\r\n"))
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, 1_087, 65_536])
    func contentLength_isExact(_ count: Int) throws {
        let text = try encode(body: String(repeating: "x", count: count))
        #expect(text.contains("\r\nContent-Length: \(count)\r\n"))
        #expect(text.hasSuffix("\r\n\r\n" + String(repeating: "x", count: count)))
    }

    @Test func head_announcesLength_andHasNoBody() throws {
        let text = try encode("HEAD / HTTP/1.1", body: "hello")
        #expect(text.contains("Content-Length: 5\r\n"))
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test(arguments: [204, 304])
    func body_isOmitted_whenTheStatusHasNone(_ code: Int) throws {
        let text = try encode(status: .init(code: code), body: "hello")
        #expect(!text.contains("Content-Length"))
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test func resetContent_hasLengthZero() throws {
        let text = try encode(status: .resetContent, body: "hello")
        #expect(text.hasSuffix("Content-Length: 0\r\n\r\n"))
    }

    @Test func statusLine_keepsItsSpace_whenTheReasonIsEmpty() throws {
        #expect(try encode(status: .init(code: 299)).hasPrefix("HTTP/1.1 299 \r\n"))
    }

    @Test(arguments: [100, 101, 199, 600, 999, 0])
    func status_isRefused_whenNotFinal(_ code: Int) throws {
        #expect(throws: ResponseError.invalidStatus(code)) { try encode(status: .init(code: code)) }
    }
}

@Suite("A response says whether the connection persists (RFC 9112 section 9)")
struct ResponseConnectionTests {
    struct Example: Sendable {
        var line = "GET / HTTP/1.1"
        var fields: [String] = []
        var isKeepAlive = true
        var connection: String?
    }

    static let examples = [
        Example(connection: nil),
        Example(isKeepAlive: false, connection: "close"),
        Example(fields: ["Connection: close"], connection: "close"),
        Example(line: "GET / HTTP/1.0", connection: "close"),
        Example(line: "GET / HTTP/1.0", fields: ["Connection: keep-alive"], connection: "keep-alive"),
        Example(line: "GET / HTTP/1.0", fields: ["Connection: keep-alive"], isKeepAlive: false, connection: "close"),
    ]

    @Test(arguments: examples)
    func connection_isClosed_whenEitherSideWantsIt(_ example: Example) throws {
        var buffer: [UInt8] = []
        let head = try ResponseEncoderTests.head(example.line, example.fields)
        let encoder = ResponseEncoder(for: head, isKeepAlive: example.isKeepAlive)
        try encoder.encode(.ok, date: ResponseEncoderTests.date, into: &buffer)
        let text = String(decoding: buffer, as: UTF8.self)
        #expect(encoder.isKeepAlive == (example.connection != "close"))
        #expect(text.contains("Connection: ") == (example.connection != nil))
        if let connection = example.connection { #expect(text.contains("Connection: \(connection)\r\n")) }
    }

    @Test func unparsedRequest_closesTheConnection() throws {
        var buffer: [UInt8] = []
        try ResponseEncoder.closing.encode(.badRequest, date: ResponseEncoderTests.date, into: &buffer)
        let text = String(decoding: buffer, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(text.hasSuffix("Connection: close\r\nContent-Length: 0\r\n\r\n"))
    }
}

@Suite("A response cannot be split")
struct ResponseSplittingTests {
    private func encode(_ field: HTTPField) throws -> [UInt8] {
        var fields = HTTPFields()
        fields.append(field)
        var buffer: [UInt8] = []
        try ResponseEncoder.closing.encode(.ok, fields, date: ResponseEncoderTests.date, into: &buffer)
        return buffer
    }

    @Test(arguments: ["a\r\nSet-Cookie: b", "a\nb", "a\rb", "a\0b", "a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"])
    func value_startsNoLine_whenItContainsLineEndings(_ value: String) throws {
        let plain = try encode(HTTPField(name: .location, value: "a"))
        for field in [HTTPField(name: .location, value: value), HTTPField(name: .location, lenientValue: value.utf8)] {
            let bytes = try encode(field)
            #expect(!bytes.contains(0))
            #expect(bytes.filter { $0 == 0x0A }.count == plain.filter { $0 == 0x0A }.count)
            #expect(bytes.filter { $0 == 0x0D }.count == plain.filter { $0 == 0x0D }.count)
        }
    }

    @Test(arguments: [0x01, 0x08, 0x0B, 0x1F, 0x7F] as [UInt8])
    func value_isRefused_whenItContainsControlCharacters(_ byte: UInt8) throws {
        #expect(throws: ResponseError.invalidFieldValue(name: "location")) {
            try encode(HTTPField(name: .location, lenientValue: [0x61, byte]))
        }
    }

    @Test(arguments: ["Content-Length", "content-length", "Transfer-Encoding", "CONNECTION", "Date"])
    func field_isRefused_whenTheEncoderWritesIt(_ name: String) throws {
        let name = try #require(HTTPField.Name(name))
        #expect(throws: ResponseError.reservedField(name: name.canonicalName)) {
            try encode(HTTPField(name: name, value: "0"))
        }
    }

    @Test(arguments: ["", "x\r\ny: z", "x\n", "\0"])
    func date_isRefused_whenItIsNotAFieldValue(_ date: String) {
        var buffer: [UInt8] = []
        #expect(throws: ResponseError.invalidDate) {
            try ResponseEncoder.closing.encode(.ok, date: Array(date.utf8), into: &buffer)
        }
        #expect(buffer.isEmpty)
    }

    @Test func reason_startsNoLine() throws {
        var buffer: [UInt8] = []
        let status = HTTPResponse.Status(code: 400, reasonPhrase: "a\r\nb: c")
        try ResponseEncoder.closing.encode(status, date: ResponseEncoderTests.date, into: &buffer)
        #expect(String(decoding: buffer, as: UTF8.self).hasPrefix("HTTP/1.1 400 a  b: c\r\nDate: "))
    }

    @Test func buffer_isUnchanged_whenRefused() throws {
        var buffer = Array("before".utf8)
        let fields: HTTPFields = [.location: "/a", .connection: "close"]
        #expect(throws: ResponseError.reservedField(name: "connection")) {
            try ResponseEncoder.closing.encode(.ok, fields, date: ResponseEncoderTests.date, into: &buffer)
        }
        #expect(String(decoding: buffer, as: UTF8.self) == "before")
    }
}

@Suite("A streamed response is chunked (RFC 9112 section 7.1)")
struct ResponseStreamTests {
    struct Stream {
        var head: String
        var body: String
        var isKeepAlive: Bool
    }

    private func stream(
        _ line: String, _ fields: [String] = [], status: HTTPResponse.Status = .ok, pieces: [String]
    ) throws -> Stream {
        var encoder = ResponseEncoder(for: try ResponseEncoderTests.head(line, fields))
        var head: [UInt8] = []
        let body = try encoder.encodeStream(status, date: ResponseEncoderTests.date, into: &head)
        var buffer: [UInt8] = []
        for piece in pieces { body.encode(Array(piece.utf8).span, into: &buffer) }
        body.encodeEnd(into: &buffer)
        return Stream(
            head: String(decoding: head, as: UTF8.self), body: String(decoding: buffer, as: UTF8.self),
            isKeepAlive: encoder.isKeepAlive)
    }

    @Test func stream_isChunked_whenHTTP11() throws {
        let long = String(repeating: "x", count: 0x1A0)
        let stream = try stream("GET / HTTP/1.1", pieces: ["hello", "", long])
        #expect(stream.head.hasSuffix("\r\nTransfer-Encoding: chunked\r\n\r\n"))
        #expect(!stream.head.contains("Content-Length"))
        #expect(stream.body == "5\r\nhello\r\n1a0\r\n\(long)\r\n0\r\n\r\n")
        #expect(stream.isKeepAlive)
    }

    @Test func stream_endsWithTheConnection_whenHTTP10() throws {
        let stream = try stream("GET / HTTP/1.0", ["Connection: keep-alive"], pieces: ["hel", "lo"])
        #expect(stream.head.hasSuffix("\r\nConnection: close\r\n\r\n"))
        #expect(!stream.head.contains("Transfer-Encoding"))
        #expect(stream.body == "hello")
        #expect(!stream.isKeepAlive)
    }

    @Test func stream_hasNoBody_whenHEAD() throws {
        let stream = try stream("HEAD / HTTP/1.1", pieces: ["hello"])
        #expect(stream.head.hasSuffix("\r\nTransfer-Encoding: chunked\r\n\r\n"))
        #expect(stream.body.isEmpty)
    }

    @Test(arguments: [204, 304])
    func stream_hasNoBody_whenStatusHasNone(_ code: Int) throws {
        let stream = try stream("GET / HTTP/1.1", status: .init(code: code), pieces: ["hello"])
        #expect(!stream.head.contains("Transfer-Encoding"))
        #expect(stream.body.isEmpty)
    }

    @Test func continue_isAnInterimResponse() {
        var buffer: [UInt8] = []
        ResponseEncoder.encodeContinue(into: &buffer)
        #expect(String(decoding: buffer, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
    }
}
