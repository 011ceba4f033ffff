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
