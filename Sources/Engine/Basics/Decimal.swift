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
        // 20 digits are enough for 64 bits.
        let capacity = Swift.max(20, digitsMin)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { digits in
            var (rest, start) = (magnitude, capacity)
            repeat {
                start -= 1
                digits.initializeElement(at: start, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0 || capacity - start < digitsMin
            append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }
}
