import HTTPTypes
import HTTPWire
import Testing

/// Each of the 256 bytes in each part of a head, compared with the alphabets of the RFCs.
@Suite("Every byte is accepted exactly where the grammar allows it")
struct HTTPGrammarTests {
    static let alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    /// `tchar`, RFC 9110 section 5.6.2.
    static let token = Set((alphanumeric + "!#$%&'*+-.^_`|~").utf8)
    /// `unreserved` and `sub-delims`, RFC 3986 section 2.
    static let unreserved = Set((alphanumeric + "-._~!$&'()*+,;=").utf8)

    private func isAccepted(_ before: String, _ byte: UInt8, _ after: String) -> Bool {
        let bytes = Wire.bytes(before) + [byte] + Wire.bytes(after)
        return transcript(bytes).requests.first?.isComplete ?? false
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func byte_isAcceptedOrRefused_inAMethod(_ byte: UInt8) {
        let isAccepted = isAccepted("GE", byte, "T / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(isAccepted == Self.token.contains(byte))
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func byte_isAcceptedOrRefused_inAPathAndAQuery(_ byte: UInt8) {
        let isAllowed = Self.unreserved.union(":@/?".utf8).contains(byte)
        #expect(isAccepted("GET /a", byte, "b HTTP/1.1\r\nHost: a\r\n\r\n") == isAllowed)
        #expect(isAccepted("GET /?a", byte, "b HTTP/1.1\r\nHost: a\r\n\r\n") == isAllowed)
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func byte_isAcceptedOrRefused_inAPercentEncoding(_ byte: UInt8) {
        let isAllowed = "0123456789abcdefABCDEF".utf8.contains(byte)
        #expect(isAccepted("GET /%", byte, "1 HTTP/1.1\r\nHost: a\r\n\r\n") == isAllowed)
        #expect(isAccepted("GET /%1", byte, " HTTP/1.1\r\nHost: a\r\n\r\n") == isAllowed)
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func byte_isAcceptedOrRefused_inAHost(_ byte: UInt8) {
        let isAllowed = Self.unreserved.contains(byte) || byte == UInt8(ascii: ":")
        #expect(isAccepted("GET / HTTP/1.1\r\nHost: a", byte, "1\r\n\r\n") == isAllowed)
        #expect(isAccepted("GET / HTTP/1.1\r\nHost: [a", byte, "1]\r\n\r\n") == isAllowed)
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func byte_isAcceptedOrRefused_inAFieldName(_ byte: UInt8) {
        let isAllowed = Self.token.contains(byte) || byte == UInt8(ascii: ":")
        #expect(isAccepted("GET / HTTP/1.1\r\nHost: a\r\nX", byte, "A: b\r\n\r\n") == isAllowed)
    }

    /// Values are read a word at a time: the result for a byte must not depend on its position in the word or on its
    /// neighbours.
    @Test(arguments: UInt8.min...UInt8.max)
    func byte_isAcceptedOrRefused_anywhereInAFieldValue(_ byte: UInt8) {
        let isAllowed = byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
        for filler in ["a", "\u{E9}"] {
            for count in 0..<17 {
                let value = Wire.bytes(String(repeating: filler, count: count)) + [byte]
                let bytes = Wire.bytes("GET / HTTP/1.1\r\nHost: a\r\nX: ") + value + Wire.bytes("aaaaaaaaa\r\n\r\n")
                #expect(Transcript([bytes]).requests.isEmpty != isAllowed)
            }
        }
    }
}
