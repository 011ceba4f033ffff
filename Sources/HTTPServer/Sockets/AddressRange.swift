/// A block of IP addresses in CIDR notation: `10.0.0.0/8`, `fd00::/8`, or a single address.
public struct AddressRange: Hashable, Sendable {
    private let first: IPAddress
    /// The number of leading bits that all addresses share. An IPv4 prefix counts in its IPv6-mapped form, so it is 96
    /// more than written.
    private let prefixLength: Int

    /// Nil if the text is not an address with an optional prefix length.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let bits = address.isIPv4 ? 32 : 128
        guard let length = parts.count == 1 ? bits : Int(parts[1]), (0...bits).contains(length) else { return nil }
        first = address
        prefixLength = length + 128 - bits
    }

    /// Compares the prefix only. An IPv4 address mapped into IPv6 is treated as IPv4.
    public func contains(_ address: IPAddress) -> Bool {
        let highMask = prefixLength >= 64 ? UInt64.max : ~(UInt64.max >> UInt64(prefixLength))
        let lowMask = prefixLength >= 128 ? UInt64.max : ~(UInt64.max >> UInt64(max(0, prefixLength - 64)))
        return (address.high ^ first.high) & highMask == 0 && (address.low ^ first.low) & lowMask == 0
    }
}
