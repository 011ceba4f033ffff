import Glibc

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

extension [UInt8] {
    /// Appends a time in UTC: the `date-time` of RFC 3339 without fraction and without `Z`, `2026-11-21T02:03:04`. A
    /// year beyond 9999 has no such form: only its last four digits are written.
    ///
    /// - Parameter seconds: since 1970-01-01T00:00:00Z.
    public mutating func appendDateTime(_ seconds: Int64) {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        appendDecimal((Int64(parts.tm_year) + 1900).magnitude % 10_000, digitsMin: 4)
        appendTwoDigits(parts.tm_mon + 1, after: "-")
        appendTwoDigits(parts.tm_mday, after: "-")
        appendTwoDigits(parts.tm_hour, after: "T")
        appendTwoDigits(parts.tm_min, after: ":")
        appendTwoDigits(parts.tm_sec, after: ":")
    }

    private mutating func appendTwoDigits(_ number: CInt, after separator: Unicode.Scalar) {
        append(UInt8(ascii: separator))
        appendDecimal(number.magnitude, digitsMin: 2)
    }
}
