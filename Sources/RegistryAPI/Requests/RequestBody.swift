import HTTPServer
import HTTPTypes
import HTTPWire

extension ServerRequest {
    /// The body of a JSON call.
    ///
    /// - Throws: 413 as `Problem`, 415 as `APIError` for a Content-Type other than JSON; absent is accepted.
    func jsonBody() throws -> [UInt8] {
        let body = try body
        guard let type = head.bytes(of: .contentType) else { return body }
        // RFC 9110, section 8.3.1: parameters follow a semicolon, perhaps with white space before it.
        let essence = type.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard essence.equalsIgnoringCase("application/json") else {
            throw APIError.unsupportedMediaType("application/json")
        }
        return body
    }
}

extension ArraySlice<UInt8> {
    /// Whether these are the letters of an ASCII name in any case; `name` is in lower case.
    func equalsIgnoringCase(_ name: StaticString) -> Bool {
        name.withUTF8Buffer { name in
            elementsEqual(name) { byte, letter in
                byte == letter || ((0x41...0x5A).contains(byte) && byte | 0x20 == letter)
            }
        }
    }
}
