/// `uri-host [ ":" port ]`, the value of Host and the authority of an absolute target (RFC 9110 section 7.2).
///
/// An empty host is refused, because RFC 9110 section 4.2.1 calls an `http` URI without a host invalid. So is user
/// information (section 4.2.4).
enum HostSyntax {
    static func validate(_ bytes: Span<UInt8>) throws(WireError) {
        let hostEnd = bytes.isEmpty || bytes[0] != UInt8(ascii: "[") ? nameEnd(bytes) : literalEnd(bytes)
        guard let hostEnd, hostEnd > 0 else { throw WireError(.invalidHost) }
        guard hostEnd < bytes.count else { return }
        guard bytes[hostEnd] == UInt8(ascii: ":"), isPort(bytes.extracting((hostEnd + 1)...)) else {
            throw WireError(.invalidHost)
        }
    }

    private static func nameEnd(_ bytes: Span<UInt8>) -> Int? {
        let end = bytes.end(of: .registeredName, from: 0, to: bytes.count)
        for index in 0..<end where bytes[index] == UInt8(ascii: "%") {
            guard bytes.isPercentEncoding(at: index, to: end) else { return nil }
        }
        return end
    }

    /// `"[" ( IPv6address / IPvFuture ) "]"`. Only the characters are checked: the address is compared, never connected
    /// to.
    private static func literalEnd(_ bytes: Span<UInt8>) -> Int? {
        let end = bytes.end(of: .addressLiteral, from: 1, to: bytes.count)
        guard end > 1, end < bytes.count, bytes[end] == UInt8(ascii: "]") else { return nil }
        return end + 1
    }

    /// `port = *DIGIT`, at most 65535.
    private static func isPort(_ bytes: Span<UInt8>) -> Bool {
        var port = 0
        for index in 0..<bytes.count {
            guard bytes[index].isDigit else { return false }
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            guard port <= 65535 else { return false }
        }
        return true
    }
}
