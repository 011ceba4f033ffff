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
