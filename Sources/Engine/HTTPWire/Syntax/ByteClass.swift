/// A set of ASCII bytes, as two words. It never contains a byte above 0x7F.
///
/// Grammars are checked byte by byte: in a `String` a combining mark would merge with the delimiter before it.
struct ByteClass {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && (word >> UInt64(byte & 0x3F)) & 1 != 0
    }

    /// `tchar` of RFC 9110 section 5.6.2: methods, field names, codings.
    static var token: ByteClass { ByteClass(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE) }

    /// The characters of a request target: RFC 3986 without the fragment's `#`.
    static var target: ByteClass { ByteClass(low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFF) }

    /// `reg-name` of RFC 3986 section 3.2.2, IPv4 addresses included.
    static var registeredName: ByteClass { ByteClass(low: 0x2BFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE) }

    /// The characters between the brackets of an `IP-literal`, RFC 3986 section 3.2.2.
    static var addressLiteral: ByteClass { ByteClass(low: 0x2FFF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE) }
}

extension UInt8 {
    static var tab: UInt8 { 0x09 }
    static var lineFeed: UInt8 { 0x0A }
    static var carriageReturn: UInt8 { 0x0D }
    static var space: UInt8 { 0x20 }

    var isSpaceOrTab: Bool { self == .space || self == .tab }

    /// Whether a field value may contain it: `field-vchar`, SP and HTAB of RFC 9110 section 5.5. Bytes above 0x7F
    /// (`obs-text`) are opaque data; every other control character, including NUL, CR and LF, is refused.
    @inline(__always)
    var isFieldContent: Bool { (self >= 0x20 && self != 0x7F) || self == .tab }

    var isDigit: Bool { self &- 0x30 < 10 }
}
