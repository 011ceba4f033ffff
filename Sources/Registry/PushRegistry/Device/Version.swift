/// A version, ordered by its numbers: 17.10 is above 17.9, and 17 equals 17.0.
///
/// The version is the dotted number at the start of the text; the rest is ignored. A text that does not begin with a
/// digit has no version.
public struct Version: Hashable, Comparable, Sendable {
    /// Numbers beyond these are ignored; no system or app has as many.
    public static let componentsMax = 16

    /// The numbers without trailing zeros; `[]` is version 0. They are ordered like PostgreSQL's `bigint[]`. A number
    /// that does not fit in 64 bits counts as the largest one.
    public let components: [Int64]

    public init?(_ text: some StringProtocol) {
        var components: [Int64] = []
        var current: Int64?
        for byte in text.utf8 {
            if ASCII.isDigit(byte) {
                current = Self.appending(byte, to: current ?? 0)
            } else if byte == UInt8(ascii: "."), let number = current {
                components.append(number)
                current = nil
            } else {
                break
            }
        }
        if let current { components.append(current) }
        guard !components.isEmpty else { return nil }
        components = Array(components.prefix(Self.componentsMax))
        while components.last == 0 { components.removeLast() }
        self.components = components
    }

    public static func < (left: Version, right: Version) -> Bool {
        left.components.lexicographicallyPrecedes(right.components)
    }

    private static func appending(_ digit: UInt8, to number: Int64) -> Int64 {
        let (tens, overflowed) = number.multipliedReportingOverflow(by: 10)
        let (sum, carried) = tens.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
        return overflowed || carried ? .max : sum
    }
}
