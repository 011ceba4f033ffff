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

extension [UInt8] {
    /// Appends all digits of a number, in lower case: two for each of its bytes.
    @inlinable
    public mutating func appendHex(_ number: some FixedWidthInteger & UnsignedInteger) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: number.bitWidth / 4) { digits in
            for index in digits.indices {
                let shift = number.bitWidth - 4 - 4 * index
                digits.initializeElement(at: index, to: UInt8(truncatingIfNeeded: number >> shift).hexDigit)
            }
            append(contentsOf: digits)
        }
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
