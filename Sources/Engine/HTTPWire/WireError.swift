public import HTTPTypes

/// A request that cannot be served, with the status of its response.
///
/// It never contains bytes of the request, which may be credentials.
public struct WireError: Error, Hashable {
    /// The kind of the fault, as a stable kebab-case code. Its status is 400 unless its comment names another.
    public enum Reason: String, Sendable, CaseIterable {
        /// The line is not `method SP request-target SP HTTP-version CRLF` (RFC 9112 section 3).
        case malformedRequestLine = "malformed-request-line"
        /// More than `leadingEmptyLinesMax` empty lines precede the request line (RFC 9112 section 2.2).
        case tooManyEmptyLines = "too-many-empty-lines"
        /// Longer than `methodBytesMax` (501, RFC 9112 section 3).
        case methodTooLong = "method-too-long"
        /// Longer than `targetBytesMax` (414, RFC 9112 section 3).
        case targetTooLong = "target-too-long"
        /// Not a form of RFC 9112 section 3.2 that the method allows, or with a character or `%` that is invalid there.
        case invalidTarget = "invalid-target"
        /// The method is CONNECT, which only a proxy serves (501).
        case connectNotSupported = "connect-not-supported"
        /// A version other than HTTP/1.1 and HTTP/1.0, such as the preface of HTTP/2 (505).
        case unsupportedVersion = "unsupported-version"
        /// A header or trailer line is not `name ":" OWS value OWS CRLF` (RFC 9112 section 5): for example white space
        /// before the colon, a bare CR or LF, or another control character.
        case malformedField = "malformed-field"
        /// A header or trailer line begins with white space (`obs-fold`, RFC 9112 section 5.2).
        case lineFolding = "line-folding"
        /// Longer than `headerBytesMax` (431, RFC 6585 section 5).
        case headerTooLarge = "header-too-large"
        /// More than `fieldsMax` header lines (431).
        case tooManyFields = "too-many-fields"
        /// A second line of Host, Content-Length, Content-Type, Authorization or Origin (RFC 9110 section 5.3).
        case duplicateField = "duplicate-field"
        /// HTTP/1.1 without Host (RFC 9112 section 3.2).
        case missingHost = "missing-host"
        /// The value of Host is not `uri-host [ ":" port ]` (RFC 9110 section 7.2), or its host is empty.
        case invalidHost = "invalid-host"
        /// Not one decimal number that fits into an `Int` (RFC 9110 section 8.6). A list of equal numbers is refused
        /// too.
        case invalidContentLength = "invalid-content-length"
        /// A list element is empty or malformed, `chunked` is not the last coding, or the version is HTTP/1.0 (RFC 9112
        /// section 6.1).
        case invalidTransferEncoding = "invalid-transfer-encoding"
        /// A transfer coding other than `chunked` (501, RFC 9112 section 6.1).
        case unsupportedTransferCoding = "unsupported-transfer-coding"
        /// Both Content-Length and Transfer-Encoding: perhaps an attempt at smuggling (RFC 9112 section 6.3).
        case ambiguousBodyLength = "ambiguous-body-length"
        /// An expectation other than `100-continue` (417, RFC 9110 section 10.1.1).
        case unsupportedExpectation = "unsupported-expectation"
        /// Larger than `RequestParser.bodyBytesMax` (413). Thrown as soon as Content-Length or the size of a chunk
        /// shows it.
        case bodyTooLarge = "body-too-large"
        /// Not `chunk` or `last-chunk` of RFC 9112 section 7.1, or a size of more than `chunkSizeDigitsMax` digits or
        /// 63 bits.
        case malformedChunk = "malformed-chunk"
        /// All extensions of the body together exceed `chunkExtensionBytesMax` (RFC 9112 section 7.1.1).
        case chunkExtensionsTooLarge = "chunk-extensions-too-large"
        /// Longer than `trailerBytesMax`, or more than `fieldsMax` lines.
        case trailerTooLarge = "trailer-too-large"
        /// The peer finished sending in the middle of a request (RFC 9112 section 8).
        case truncatedRequest = "truncated-request"
        /// `%` without two hexadecimal digits (RFC 3986 section 2.1), or a decoded text that is not UTF-8 or contains
        /// NUL.
        case invalidPercentEncoding = "invalid-percent-encoding"
    }

    /// Compare this rather than `detail`, whose wording may change.
    public let reason: Reason

    /// `status` and `detail` follow from `reason`.
    public init(_ reason: Reason) {
        self.reason = reason
    }

    /// The status of the response. An error of the parser also ends the connection.
    public var status: HTTPResponse.Status {
        switch reason {
        case .targetTooLong: .uriTooLong
        case .headerTooLarge, .tooManyFields: .requestHeaderFieldsTooLarge
        case .bodyTooLarge: .contentTooLarge
        case .unsupportedExpectation: .expectationFailed
        case .unsupportedVersion: .httpVersionNotSupported
        case .methodTooLong, .connectNotSupported, .unsupportedTransferCoding: .notImplemented
        case .malformedRequestLine, .tooManyEmptyLines, .invalidTarget, .malformedField, .lineFolding,
            .duplicateField, .missingHost, .invalidHost, .invalidContentLength, .invalidTransferEncoding,
            .ambiguousBodyLength, .malformedChunk, .chunkExtensionsTooLarge, .trailerTooLarge, .truncatedRequest,
            .invalidPercentEncoding:
            .badRequest
        }
    }

    /// One sentence for the developer of the client.
    public var detail: String {
        switch reason {
        case .malformedRequestLine: "The request line is not `method SP target SP HTTP/1.1 CRLF`."
        case .tooManyEmptyLines: "Too many empty lines precede the request line."
        case .methodTooLong: "The method is too long."
        case .targetTooLong: "The request target is too long."
        case .invalidTarget: "The request target is not a valid one for this method; is it percent-encoded?"
        case .connectNotSupported: "This is not a proxy: CONNECT is not supported."
        case .unsupportedVersion: "Only HTTP/1.1 and HTTP/1.0 are supported."
        case .malformedField: "A header or trailer line is not `name: value CRLF`, or holds a control character."
        case .lineFolding: "A header or trailer line starts with white space; folded lines are obsolete."
        case .headerTooLarge: "The header fields are too large."
        case .tooManyFields: "There are too many header fields."
        case .duplicateField: "A header field that may occur once occurs more than once."
        case .missingHost: "An HTTP/1.1 request needs a Host field."
        case .invalidHost: "The Host field is not a host with an optional port."
        case .invalidContentLength: "Content-Length is not one decimal number."
        case .invalidTransferEncoding: "Transfer-Encoding does not end with one `chunked`, or is not allowed here."
        case .unsupportedTransferCoding: "The only transfer coding supported is `chunked`."
        case .ambiguousBodyLength: "Content-Length and Transfer-Encoding exclude each other."
        case .unsupportedExpectation: "The only expectation supported is `100-continue`."
        case .bodyTooLarge: "The body is larger than this resource accepts."
        case .malformedChunk: "The chunked body is malformed."
        case .chunkExtensionsTooLarge: "The chunk extensions are too large."
        case .trailerTooLarge: "The trailer section is too large."
        case .truncatedRequest: "The connection ended before the request did."
        case .invalidPercentEncoding: "A percent-encoded part is malformed, is not UTF-8, or holds a NUL."
        }
    }
}

extension WireError: CustomStringConvertible {
    public var description: String { reason.rawValue }
}
