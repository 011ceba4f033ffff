extension [UInt8] {
    /// Appends the decimal digits of a number, with `-` before those of a negative one.
    @inlinable
    public mutating func appendDecimal(_ number: some FixedWidthInteger) {
        if number < 0 { append(UInt8(ascii: "-")) }
        appendDecimal(magnitude: UInt64(number.magnitude), digitsMin: 1)
    }

    /// Appends the decimal digits of a number, padded with zeros to `digitsMin`.
    @inlinable
    public mutating func appendDecimal(_ number: some UnsignedInteger & FixedWidthInteger, digitsMin: Int) {
        appendDecimal(magnitude: UInt64(number), digitsMin: digitsMin)
    }

    @inlinable
    mutating func appendDecimal(magnitude: UInt64, digitsMin: Int) {
        var count = 1
        var rest = magnitude / 10
        while rest > 0 {
            count += 1
            rest /= 10
        }
        count = Swift.max(count, digitsMin)
        let start = self.count
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: count))
        rest = magnitude
        var index = start + count
        while rest > 0 {
            index -= 1
            self[index] += UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}
