public import HTTPTypes

/// Everything before a request's body, valid by RFC 9110 and 9112.
///
/// It keeps its bytes and the positions of its parts, and creates strings only on request. Copying it copies one
/// reference.
public struct RequestHead: Sendable {
    /// The contents of a head; immutable, so that copies can share them.
    final class Storage: Sendable {
        let method: HTTPRequest.Method
        let version: HTTPVersion
        let bodyFraming: BodyFraming
        let isKeepAlive: Bool
        let expectsContinue: Bool
        let target: RequestTarget
        let host: Range<Int>?
        let lines: [FieldLine]
        let bytes: [UInt8]
        /// The start of the request in `bytes`; all positions are relative to it.
        let start: Int

        init(
            method: HTTPRequest.Method, version: HTTPVersion, target: RequestTarget, bodyFraming: BodyFraming,
            rules: HeadRules, lines: [FieldLine], bytes: [UInt8], start: Int
        ) {
            self.method = method
            self.version = version
            self.bodyFraming = bodyFraming
            self.isKeepAlive = rules.isKeepAlive(version)
            self.expectsContinue = rules.expectsContinue(version, bodyFraming)
            self.target = target
            self.host = rules.host
            self.lines = lines
            self.bytes = bytes
            self.start = start
        }
    }

    let storage: Storage

    init(_ storage: Storage) {
        self.storage = storage
    }

    /// A valid token; case-sensitive. The router decides whether the method is supported.
    public var method: HTTPRequest.Method { storage.method }

    /// The client's version; the response is HTTP/1.1 in any case (RFC 9112 section 2.3).
    public var version: HTTPVersion { storage.version }

    /// How the body's end is found. `length(0)` if the client sent `Content-Length: 0`.
    public var bodyFraming: BodyFraming { storage.bodyFraming }

    /// Whether the client allows another request on the connection after this one.
    public var isKeepAlive: Bool { storage.isKeepAlive }

    /// Whether the client waits for `100 Continue` before it sends the body.
    public var expectsContinue: Bool { storage.expectsContinue }

    /// The bytes of memory that the head holds: its bytes, with the rest of a shared buffer, and the positions of its
    /// fields.
    public var heldByteCount: Int { storage.bytes.count + storage.lines.count * MemoryLayout<FieldLine>.stride }

    /// The bytes of one part.
    func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
        storage.bytes[(storage.start + range.lowerBound)..<(storage.start + range.upperBound)]
    }
}

/// A request contains credentials, so this is its only printable form.
extension RequestHead: CustomStringConvertible, CustomReflectable {
    public var description: String { "‹\(method) request, \(storage.lines.count) fields›" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension RequestHead {
    /// The value of a field, decoded as UTF-8; invalid bytes become U+FFFD.
    ///
    /// Several lines are joined in order with a comma and a space (RFC 9110 section 5.3), Cookie with a semicolon (RFC
    /// 6265 section 4.2.1). Host, Content-Length, Content-Type, Authorization and Origin occur at most once: the parser
    /// refuses repetitions.
    public subscript(_ name: HTTPField.Name) -> String? {
        let (count, line) = lines(of: name)
        guard let line else { return nil }
        if count == 1 { return String(decoding: slice(line.value), as: UTF8.self) }
        return values(of: name).joined(separator: name == .cookie ? "; " : ", ")
    }

    /// The value of each line of a field, in order.
    public func values(of name: HTTPField.Name) -> [String] {
        var values: [String] = []
        forEachLine(of: name) { line in
            values.append(String(decoding: slice(line.value), as: UTF8.self))
        }
        return values
    }

    /// The bytes of a field's value, without allocating a string; nil unless there is exactly one line.
    public func bytes(of name: HTTPField.Name) -> ArraySlice<UInt8>? {
        let (count, line) = lines(of: name)
        return count == 1 ? line.map { slice($0.value) } : nil
    }

    /// Whether there is at least one line of this name, even with an empty value.
    public func contains(_ name: HTTPField.Name) -> Bool {
        lines(of: name).count > 0
    }

    /// The number of a field's lines, and the last one.
    private func lines(of name: HTTPField.Name) -> (count: Int, last: FieldLine?) {
        var count = 0
        var last: FieldLine?
        forEachLine(of: name) { line in
            count += 1
            last = line
        }
        return (count, last)
    }

    private func forEachLine(of name: HTTPField.Name, _ body: (FieldLine) -> Void) {
        let bytes = storage.bytes
        let head = bytes.span.extracting(storage.start...)
        let canonicalName = name.canonicalName
        let length = canonicalName.utf8.count
        for line in storage.lines where line.name.count == length && head.extracting(line.name).isToken(canonicalName) {
            body(line)
        }
    }
}

/// The fields that the parser itself interprets or protects against duplicates.
enum RecognizedField: UInt8, Sendable {
    case other
    case host, contentLength, transferEncoding, connection, expect
    case authorization, contentType, origin

    /// Recognizes a field's name once, while its line is read. It compares the length first, so that most names cost
    /// one branch.
    init(name: Span<UInt8>) {
        self =
            switch name.count {
            case 4 where name.isToken("host"): .host
            case 6 where name.isToken("expect"): .expect
            case 6 where name.isToken("origin"): .origin
            case 10 where name.isToken("connection"): .connection
            case 12 where name.isToken("content-type"): .contentType
            case 13 where name.isToken("authorization"): .authorization
            case 14 where name.isToken("content-length"): .contentLength
            case 17 where name.isToken("transfer-encoding"): .transferEncoding
            default: .other
            }
    }

    /// Whether a second line is refused. These are not list fields (RFC 9110 section 5.3): a proxy and this server
    /// might each use a different line.
    var isSingleton: Bool {
        switch self {
        case .host, .contentLength, .authorization, .contentType, .origin: true
        case .other, .transferEncoding, .connection, .expect: false
        }
    }
}

/// The supported versions of HTTP.
public enum HTTPVersion: Sendable, Hashable {
    /// Host is optional, chunks are unknown, and a connection persists only on request (RFC 9112 section 9.3).
    case http10
    /// Connections persist by default. All responses are of this version (RFC 9112 section 2.3).
    case http11

    /// `HTTP/1.1`
    static var byteCount: Int { 8 }

    /// Reads `HTTP-version` of RFC 9112 section 2.3, case-sensitive.
    ///
    /// - Throws: `unsupportedVersion` if it has the form of a version, HTTP/2's preface included;
    ///   `malformedRequestLine` otherwise.
    init(parsing bytes: Span<UInt8>) throws(WireError) {
        let name = "HTTP/".utf8.span
        for index in 0..<name.count where bytes[index] != name[index] {
            throw WireError(.malformedRequestLine)
        }
        guard bytes[5].isDigit, bytes[6] == UInt8(ascii: "."), bytes[7].isDigit else {
            throw WireError(.malformedRequestLine)
        }
        switch (bytes[5], bytes[7]) {
        case (UInt8(ascii: "1"), UInt8(ascii: "1")): self = .http11
        case (UInt8(ascii: "1"), UInt8(ascii: "0")): self = .http10
        default: throw WireError(.unsupportedVersion)
        }
    }
}
