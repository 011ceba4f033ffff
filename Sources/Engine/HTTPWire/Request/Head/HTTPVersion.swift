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
