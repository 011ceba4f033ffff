import Basics
import HTTPTypes

/// The parts of a response, appended to a buffer.
extension [UInt8] {
    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// The version is the server's, also for HTTP/1.0 clients (RFC 9112 section 2.3). The reason phrase may be empty,
    /// but the space before it is required (section 4).
    mutating func appendStatusLine(_ status: HTTPResponse.Status) throws(ResponseError) {
        guard (200...599).contains(status.code) else { throw .invalidStatus(status.code) }
        append("HTTP/1.1 ")
        appendDecimal(status.code)
        append(.space)
        append(contentsOf: status.reasonPhrase.utf8)
        append("\r\n")
    }

    mutating func appendDate(_ date: [UInt8]) throws(ResponseError) {
        guard !date.isEmpty, date.span.isFieldValue else { throw .invalidDate }
        append("Date: ")
        append(contentsOf: date)
        append("\r\n")
    }

    /// A field's name is a token by its type. Its value is checked here, on the bytes that are sent: this is the last
    /// chance to prevent response splitting.
    mutating func append(_ field: HTTPField) throws(ResponseError) {
        guard !field.name.isReserved else { throw .reservedField(name: field.name.canonicalName) }
        append(contentsOf: field.name.rawName.utf8)
        append(": ")
        let isValid = field.withUnsafeBytesOfValue { value in
            append(contentsOf: value)
            return value.span.isFieldValue
        }
        guard isValid else { throw .invalidFieldValue(name: field.name.canonicalName) }
        append("\r\n")
    }

    mutating func appendContentLength(_ length: Int) {
        append("Content-Length: ")
        appendDecimal(length)
        append("\r\n")
    }
}

extension Span<UInt8> {
    fileprivate var isFieldValue: Bool { endOfFieldContent(from: 0, to: count) == count }
}

extension HTTPField.Name {
    /// Whether only the encoder may write it.
    fileprivate var isReserved: Bool {
        switch canonicalName.utf8.count {
        case 4: canonicalName == "date"
        case 10: canonicalName == "connection"
        case 14: canonicalName == "content-length"
        case 17: canonicalName == "transfer-encoding"
        default: false
        }
    }
}
