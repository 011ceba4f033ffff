import ByteText
import HTTPTypes
import HTTPWire

/// What ties a response, its log lines and its problem document together.
public enum RequestID: Sendable, Hashable {
    /// The client's own, from `X-Request-Id`.
    case received(String)
    /// Made here: 128 random bits.
    case made(UInt64, UInt64)

    /// The longest identifier taken from a client.
    static let lengthMax = 128

    /// Takes a client's identifier if it is one: 1 to 128 letters, digits and `-._~+/=:`, which no log, header or
    /// document needs to escape.
    init?(_ value: ArraySlice<UInt8>) {
        guard (1...Self.lengthMax).contains(value.count), value.allSatisfy(\.isRequestIDByte) else { return nil }
        self = .received(String(decoding: value, as: UTF8.self))
    }

    /// Appends the identifier without building a string.
    public func write(to bytes: inout [UInt8]) {
        switch self {
        case .received(let string):
            bytes.append(contentsOf: string.utf8)
        case .made(let high, let low):
            bytes.appendHex(high)
            bytes.appendHex(low)
        }
    }
}

extension RequestID: CustomStringConvertible {
    public var description: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTTPField.Name {
    public static let xRequestID = HTTPField.Name("X-Request-Id")!
    static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
    static let traceparent = HTTPField.Name("traceparent")!
}

extension UInt8 {
    fileprivate var isRequestIDByte: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
