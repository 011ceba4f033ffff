public import HTTPTypes

/// Everything before a request's body, valid by RFC 9110 and 9112.
///
/// It shares the bytes it was received in and knows where the parts are: nothing becomes a string before it is asked
/// for. Copying it copies one reference.
public struct RequestHead: Sendable {
    /// What is known of a head; immutable, so that many may share it.
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
        /// Where the request begins in `bytes`; all positions count from here.
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

    /// A valid token, compared with its case. Whether it is known is for the router to say.
    public var method: HTTPRequest.Method { storage.method }

    public var version: HTTPVersion { storage.version }

    public var bodyFraming: BodyFraming { storage.bodyFraming }

    /// Whether the client lets the connection serve another request after this one.
    public var isKeepAlive: Bool { storage.isKeepAlive }

    /// Whether the client waits for `100 Continue` before it sends the body.
    public var expectsContinue: Bool { storage.expectsContinue }

    /// The bytes of one part.
    func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
        storage.bytes[(storage.start + range.lowerBound)..<(storage.start + range.upperBound)]
    }
}

/// A request is full of credentials: it has no printable form but this.
extension RequestHead: CustomStringConvertible, CustomReflectable {
    public var description: String { "‹\(method) request, \(storage.lines.count) fields›" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
