public import HTTPTypes

/// A request that cannot be served, with the status of its response.
///
/// It never contains bytes of the request, which may be credentials.
public struct WireError: Error, Hashable {
    /// The kind of the fault, as a stable kebab-case code.
    public enum Reason: String, Sendable, CaseIterable {
        case malformedRequestLine = "malformed-request-line"
        case tooManyEmptyLines = "too-many-empty-lines"
        case methodTooLong = "method-too-long"
        case targetTooLong = "target-too-long"
        case invalidTarget = "invalid-target"
        case connectNotSupported = "connect-not-supported"
        case unsupportedVersion = "unsupported-version"
        case malformedField = "malformed-field"
        case lineFolding = "line-folding"
        case headerTooLarge = "header-too-large"
        case tooManyFields = "too-many-fields"
        case duplicateField = "duplicate-field"
        case missingHost = "missing-host"
        case invalidHost = "invalid-host"
        case invalidContentLength = "invalid-content-length"
        case invalidTransferEncoding = "invalid-transfer-encoding"
        case unsupportedTransferCoding = "unsupported-transfer-coding"
        case ambiguousBodyLength = "ambiguous-body-length"
        case unsupportedExpectation = "unsupported-expectation"
        case bodyTooLarge = "body-too-large"
        case malformedChunk = "malformed-chunk"
        case chunkExtensionsTooLarge = "chunk-extensions-too-large"
        case trailerTooLarge = "trailer-too-large"
        case truncatedRequest = "truncated-request"
        case invalidPercentEncoding = "invalid-percent-encoding"
    }

    public let reason: Reason

    public init(_ reason: Reason) {
        self.reason = reason
    }

    /// The status of the response, after which the connection is closed.
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
