import HTTPTypes
public import HTTPWire

/// The caller's position in a distributed trace: `traceparent` of W3C Trace Context, level 1.
public struct TraceParent: Sendable, Hashable {
    /// 32 lower-case hexadecimal digits.
    public let traceID: String

    /// Nil if the field is missing or malformed; the specification says to ignore it then.
    public init?(_ head: RequestHead) {
        guard let value = head.bytes(of: .traceparent) else { return nil }
        self.init(value)
    }

    /// Reads `version "-" trace-id "-" parent-id "-" trace-flags`; later versions may append to it.
    init?(_ value: ArraySlice<UInt8>) {
        let parts = value.split(separator: UInt8(ascii: "-"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, zip(parts, [2, 32, 16, 2]).allSatisfy({ $0.isLowerHex(count: $1) }) else { return nil }
        let isFirstVersion = parts[0].elementsEqual("00".utf8)
        guard !parts[0].elementsEqual("ff".utf8), parts.count == 4 || !isFirstVersion else { return nil }
        guard !parts[1].isAllZero, !parts[2].isAllZero else { return nil }
        traceID = String(decoding: parts[1], as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func isLowerHex(count length: Int) -> Bool {
        count == length
            && allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    fileprivate var isAllZero: Bool { allSatisfy { $0 == UInt8(ascii: "0") } }
}

extension HTTPField.Name {
    fileprivate static let traceparent = HTTPField.Name("traceparent")!
}
