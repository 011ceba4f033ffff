/// Reads the integers among JSON numbers exactly, without a conversion to double.
enum JSONNumber {
    enum Integer: Equatable {
        case value(Int64)
        /// The number is not whole.
        case fraction
        /// The number exceeds 64 bits; it is whole, or so large that a fraction does not matter.
        case overflow
    }

    /// - Parameter text: a number by RFC 8259, section 6.
    static func integer(_ text: ArraySlice<UInt8>) -> Integer {
        var magnitude: UInt64 = 0
        let isNegative = text.first == UInt8(ascii: "-")
        for byte in text.dropFirst(isNegative ? 1 : 0) {
            guard byte &- UInt8(ascii: "0") < 10 else { return decimal(text, isNegative: isNegative) }
            guard append(byte, to: &magnitude) else { return decimal(text, isNegative: isNegative) }
        }
        return signed(magnitude, isNegative: isNegative)
    }

    /// Digits with a point or an exponent. `d.ddd × 10^e` is whole if only zeros remain after the point.
    private static func decimal(_ text: ArraySlice<UInt8>, isNegative: Bool) -> Integer {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = parts[0].dropFirst(isNegative ? 1 : 0)
        let point = mantissa.firstIndex(of: UInt8(ascii: ".")) ?? mantissa.endIndex
        var digits = Array(mantissa.filter { $0 != UInt8(ascii: ".") }.drop { $0 == UInt8(ascii: "0") })
        var scale = -max(0, mantissa.endIndex - point - 1)
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            scale += 1
        }
        guard !digits.isEmpty else { return .value(0) }
        // Larger exponents can be clamped: no text of less than 4 GiB has enough digits to compensate them.
        let exponent = parts.count > 1 ? clampedExponent(parts[1]) : 0
        return whole(digits, scale: scale + exponent, isNegative: isNegative)
    }

    private static func whole(_ digits: [UInt8], scale: Int, isNegative: Bool) -> Integer {
        guard scale >= 0 else { return .fraction }
        guard digits.count + scale <= 19 else { return .overflow }
        var magnitude: UInt64 = 0
        for byte in digits + Array(repeating: UInt8(ascii: "0"), count: scale) {
            guard append(byte, to: &magnitude) else { return .overflow }
        }
        return signed(magnitude, isNegative: isNegative)
    }

    private static func clampedExponent(_ text: ArraySlice<UInt8>) -> Int {
        let limit = Int(UInt32.max)
        let value = Int(String(decoding: text, as: UTF8.self)) ?? (text.first == UInt8(ascii: "-") ? -limit : limit)
        return min(max(value, -limit), limit)
    }

    /// False on overflow.
    private static func append(_ byte: UInt8, to magnitude: inout UInt64) -> Bool {
        let (tens, overflowed) = magnitude.multipliedReportingOverflow(by: 10)
        let (sum, carried) = tens.addingReportingOverflow(UInt64(byte &- UInt8(ascii: "0")))
        magnitude = sum
        return !overflowed && !carried
    }

    private static func signed(_ magnitude: UInt64, isNegative: Bool) -> Integer {
        if isNegative, magnitude <= UInt64(Int64.max) + 1 { return .value(Int64(truncatingIfNeeded: 0 &- magnitude)) }
        if !isNegative, magnitude <= UInt64(Int64.max) { return .value(Int64(magnitude)) }
        return .overflow
    }
}
