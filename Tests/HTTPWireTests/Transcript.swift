import HTTPTypes
import Testing

@testable import HTTPWire

/// One request from the parser's events, with its body reassembled.
struct ParsedRequest: Equatable {
    var method: String
    var form: TargetForm
    var authority: String?
    var path: String
    var query: String?
    var version: HTTPVersion
    var fields: HTTPFields
    var framing: BodyFraming
    var isKeepAlive: Bool
    var expectsContinue: Bool
    var body: [UInt8] = []
    var isComplete = false

    init(_ head: RequestHead) {
        method = head.method.rawValue
        form = head.targetForm
        authority = head.authority
        path = String(decoding: head.path, as: UTF8.self)
        query = head.query.map { String(decoding: $0, as: UTF8.self) }
        version = head.version
        fields = head.fields
        framing = head.bodyFraming
        isKeepAlive = head.isKeepAlive
        expectsContinue = head.expectsContinue
    }

    var bodyText: String { String(decoding: body, as: UTF8.self) }
}

extension RequestHead {
    /// All fields, in order.
    var fields: HTTPFields {
        var fields = HTTPFields()
        for line in storage.lines {
            guard let name = HTTPField.Name(String(decoding: slice(line.name), as: UTF8.self)) else { continue }
            fields.append(HTTPField(name: name, lenientValue: slice(line.value)))
        }
        return fields
    }
}

/// All events of a parser for some bytes.
struct Transcript: Equatable {
    var requests: [ParsedRequest] = []
    var failure: WireError.Reason?
    var isClosed = false

    /// Feeds the pieces one after the other, and reads all events after each.
    init(_ pieces: [[UInt8]], limits: WireLimits = WireLimits(), bodyBytesMax: Int? = nil) {
        var parser = RequestParser(limits: limits)
        do {
            for piece in pieces {
                parser.append(piece)
                try take(from: &parser, bodyBytesMax)
            }
        } catch {
            failure = error.reason
            expectFailed(&parser, error)
        }
        isClosed = parser.phase == .closed
    }

    private mutating func take(from parser: inout RequestParser, _ bodyBytesMax: Int?) throws(WireError) {
        while let event = try parser.nextEvent() {
            switch event {
            case .head(let head):
                requests.append(ParsedRequest(head))
                if let bodyBytesMax { parser.bodyBytesMax = bodyBytesMax }
            case .body(let bytes):
                #expect(!bytes.isEmpty)
                requests[requests.count - 1].body += bytes
            case .end:
                requests[requests.count - 1].isComplete = true
            }
        }
    }

    /// A failed parser throws the same error again, whatever bytes follow.
    private func expectFailed(_ parser: inout RequestParser, _ error: WireError) {
        #expect(parser.phase == .failed)
        parser.append(Wire.tail)
        for _ in 0..<2 {
            do {
                let event = try parser.nextEvent()
                Issue.record("a failed parser returned \(String(describing: event))")
            } catch let again {
                #expect(again == error)
            }
        }
        parser.close()
        #expect(parser.phase == .failed)
    }
}

/// Wire examples and the ways to feed them.
enum Wire {
    /// A request that shows whether bytes after an example are parsed as a request.
    static let tail = Array("GET /tail HTTP/1.1\r\nHost: tail\r\n\r\n".utf8)

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// A request with default parts, each of which can be replaced.
    static func request(
        _ line: String = "GET / HTTP/1.1", host: String? = "example.com", fields: [String] = [], body: String = ""
    ) -> [UInt8] {
        let lines = [line] + (host.map { ["Host: \($0)"] } ?? []) + fields
        return bytes(lines.map { $0 + "\r\n" }.joined() + "\r\n" + body)
    }

    static func chunked(_ body: String, _ fields: [String] = []) -> [UInt8] {
        request("POST / HTTP/1.1", fields: ["Transfer-Encoding: chunked"] + fields, body: body)
    }
}

/// The parser's events for `bytes` fed at once. They must be the same byte by byte, and with a request appended, which
/// the parser must find exactly if the example is complete and keeps the connection open.
func transcript(
    _ bytes: [UInt8], limits: WireLimits = WireLimits(), bodyBytesMax: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) -> Transcript {
    let whole = Transcript([bytes], limits: limits, bodyBytesMax: bodyBytesMax)
    let bytewise = Transcript(bytes.map { [$0] }, limits: limits, bodyBytesMax: bodyBytesMax)
    #expect(bytewise == whole, "byte by byte", sourceLocation: sourceLocation)
    guard whole.failure != nil || whole.isClosed || whole.requests.last?.isComplete == true else { return whole }
    var tailed = Transcript([bytes + Wire.tail], limits: limits, bodyBytesMax: bodyBytesMax)
    if whole.failure == nil, !whole.isClosed {
        let last = tailed.requests.popLast()
        #expect(last?.path == "/tail" && last?.isComplete == true, "the tail", sourceLocation: sourceLocation)
    }
    #expect(tailed == whole, "with a tail", sourceLocation: sourceLocation)
    return whole
}

/// The single complete request in `bytes`.
func onlyRequest(
    _ bytes: [UInt8], limits: WireLimits = WireLimits(), bodyBytesMax: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> ParsedRequest {
    let transcript = transcript(
        bytes, limits: limits, bodyBytesMax: bodyBytesMax, sourceLocation: sourceLocation)
    #expect(transcript.failure == nil, sourceLocation: sourceLocation)
    #expect(transcript.requests.count == 1, sourceLocation: sourceLocation)
    let request = try #require(transcript.requests.first, sourceLocation: sourceLocation)
    #expect(request.isComplete, sourceLocation: sourceLocation)
    return request
}

/// Expects an error for `bytes`, and no complete request in them.
func expectRefused(
    _ bytes: [UInt8], _ reason: WireError.Reason, limits: WireLimits = WireLimits(), bodyBytesMax: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let transcript = transcript(
        bytes, limits: limits, bodyBytesMax: bodyBytesMax, sourceLocation: sourceLocation)
    #expect(transcript.failure == reason, sourceLocation: sourceLocation)
    let isComplete = transcript.requests.contains { $0.isComplete }
    #expect(!isComplete, sourceLocation: sourceLocation)
}
