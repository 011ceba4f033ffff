import HTTPServer
import HTTPTypes
import HTTPWire

extension ServerRequest {
    /// The body of a JSON call.
    ///
    /// - Throws: 413 as `Problem`, 415 as `APIError` for a Content-Type other than JSON; absent is accepted.
    func jsonBody() throws -> [UInt8] {
        let body = try body
        guard let type = head[.contentType] else { return body }
        let essence = type.prefix { $0 != ";" }.lowercased().trimmingSuffix(while: \.isWhitespace)
        guard essence == "application/json" else { throw APIError.unsupportedMediaType("application/json") }
        return body
    }
}

extension StringProtocol {
    fileprivate func trimmingSuffix(while isDropped: (Character) -> Bool) -> SubSequence {
        self[..<(lastIndex { !isDropped($0) }.map(index(after:)) ?? startIndex)]
    }
}
