extension UInt8 {
    /// The value of a hexadecimal digit in ASCII; nil for any other byte.
    @inlinable
    public var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The lower-case hexadecimal digit, in ASCII, of the lower four bits.
    @inlinable
    public var hexDigit: UInt8 {
        let value = self & 0xF
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension UInt32 {
    /// The eight lower-case hexadecimal digits, in ASCII: the first digit is the highest byte.
    @inlinable
    var hexDigits: UInt64 {
        // Each step moves the halves of every group of bits apart, until each byte has four bits.
        var digits = UInt64(self)
        digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
        digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
        digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in each byte whose value is above 9: adding 6 carries into its upper half.
        let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ letters &* UInt64(UInt8(ascii: "a") - UInt8(ascii: "9") - 1)
    }
}

extension [UInt8] {
    /// Appends the two digits of a byte, in lower case.
    @inlinable
    public mutating func appendHex(_ byte: UInt8) {
        append((byte >> 4).hexDigit)
        append(byte.hexDigit)
    }

    /// Appends all digits of a number, in lower case: two for each of its bytes, which are eight at most.
    @inlinable
    public mutating func appendHex(_ number: some FixedWidthInteger & UnsignedInteger) {
        let (high, low) = (UInt32(truncatingIfNeeded: UInt64(number) >> 32), UInt32(truncatingIfNeeded: number))
        let digits = (high.hexDigits.bigEndian, low.hexDigits.bigEndian)
        Swift.withUnsafeBytes(of: digits) { append(contentsOf: $0.suffix(number.bitWidth / 4)) }
    }

    /// Appends the digits of a number without leading zeros, in lower case; one for 0.
    @inlinable
    public mutating func appendShortHex(_ number: UInt) {
        let digits = Swift.max(1, (UInt.bitWidth - number.leadingZeroBitCount + 3) / 4)
        for shift in stride(from: (digits - 1) * 4, through: 0, by: -4) {
            append(UInt8(truncatingIfNeeded: number >> UInt(shift)).hexDigit)
        }
    }
}

extension String {
    /// All lower-case hexadecimal digits of a number: two for each of its bytes.
    public init(hex number: some FixedWidthInteger & UnsignedInteger) {
        var digits: [UInt8] = []
        digits.appendHex(number)
        self.init(decoding: digits, as: UTF8.self)
    }

    /// The lower-case hexadecimal digits of bytes, two each.
    public init(hex bytes: some Sequence<UInt8>) {
        var digits: [UInt8] = []
        for byte in bytes { digits.appendHex(byte) }
        self.init(decoding: digits, as: UTF8.self)
    }
}
