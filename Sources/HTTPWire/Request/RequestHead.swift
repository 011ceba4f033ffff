public import HTTPTypes

/// Everything before a request's body, valid by RFC 9110 and 9112.
///
/// It shares the bytes it was received in and knows where the parts are: nothing becomes a string before it is asked
/// for. Copying it copies references.
public struct RequestHead: Sendable {
    /// A valid token, compared with its case. Whether it is known is for the router to say.
    public let method: HTTPRequest.Method
    public let version: HTTPVersion
    public let bodyFraming: BodyFraming

    /// Whether the client lets the connection serve another request after this one.
    public let isKeepAlive: Bool

    /// Whether the client waits for `100 Continue` before it sends the body.
    public let expectsContinue: Bool

    let bytes: [UInt8]
    /// Where the request begins in `bytes`; all positions count from here.
    let start: Int
    let target: RequestTarget
    let hostValue: Range<Int>?
    let lines: [FieldLine]

    init(
        method: HTTPRequest.Method, version: HTTPVersion, bodyFraming: BodyFraming, isKeepAlive: Bool,
        expectsContinue: Bool, bytes: [UInt8], start: Int, target: RequestTarget, host: Range<Int>?,
        lines: [FieldLine]
    ) {
        self.method = method
        self.version = version
        self.bodyFraming = bodyFraming
        self.isKeepAlive = isKeepAlive
        self.expectsContinue = expectsContinue
        self.bytes = bytes
        self.start = start
        self.target = target
        self.hostValue = host
        self.lines = lines
    }

    /// The bytes of one part.
    func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
        bytes[(start + range.lowerBound)..<(start + range.upperBound)]
    }
}

/// A request is full of credentials: it has no printable form but this.
extension RequestHead: CustomStringConvertible, CustomReflectable {
    public var description: String { "‹\(method) request, \(lines.count) fields›" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
