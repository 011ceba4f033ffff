import HTTPServer
import HTTPTypes
import HTTPWire

extension ServerRequest {
    /// The body of a JSON call.
    ///
    /// - Throws: 413 as `Problem`, 415 as `APIError` for a Content-Type other than JSON; absent is accepted.
    func jsonBody() throws -> [UInt8] {
        let body = try body
        guard let mediaType, mediaType != "application/json" else { return body }
        throw APIError.unsupportedMediaType("application/json")
    }

    /// The body of a call that takes one JSON text or one a line (NDJSON), and whether it says that it is lines.
    ///
    /// - Throws: as `jsonBody`.
    func jsonOrLinesBody() throws -> (body: [UInt8], saysLines: Bool) {
        let body = try body
        switch mediaType {
        case nil, "application/json": return (body, false)
        case "application/x-ndjson", "application/ndjson": return (body, true)
        default: throw APIError.unsupportedMediaType("application/json, application/x-ndjson")
        }
    }

    /// `Content-Type` without its parameters, in lower case.
    private var mediaType: String? {
        head[.contentType].map { type in
            String(type.prefix { $0 != ";" }.lowercased().trimmingSuffix(while: \.isWhitespace))
        }
    }
}

extension StringProtocol {
    fileprivate func trimmingSuffix(while isDropped: (Character) -> Bool) -> SubSequence {
        self[..<(lastIndex { !isDropped($0) }.map(index(after:)) ?? startIndex)]
    }
}
