/// Writes `application/x-www-form-urlencoded`, which the query of a URL and the body of a form share.
///
/// Every byte is escaped but letters, digits and `-._~`, so the text is right in both.
public enum FormEncoding {
    /// - Parameter fields: in the order of the text.
    public static func text(of fields: [(name: String, value: String)]) -> String {
        fields.map { "\(text(of: $0.name))=\(text(of: $0.value))" }.joined(separator: "&")
    }

    public static func text(of value: String) -> String {
        var bytes: [UInt8] = []
        for byte in value.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.appendHex(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }
}
