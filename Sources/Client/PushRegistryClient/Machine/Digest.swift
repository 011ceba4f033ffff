import Foundation

/// A digest that detects changes (FNV-1a). It gives no protection against forgery, and needs none.
struct Digest {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    init(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// The digest of the user and the session in a JWT, or of the whole credential if it is not a JWT.
    static func owner(of credential: String) -> UInt64 {
        guard let claims = Claims(of: credential) else { return Digest(credential.utf8).value }
        return Digest("\(claims.sub)\n\(claims.sid ?? "")".utf8).value
    }

    /// The digest of the user in a JWT.
    static func user(of credential: String) -> UInt64? {
        Claims(of: credential).map { Digest($0.sub.utf8).value }
    }

    private struct Claims: Decodable {
        var sub: String
        var sid: String?

        init?(of credential: String) {
            let parts = credential.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let payload = Data(base64URL: parts[1]),
                let claims = try? JSONDecoder().decode(Self.self, from: payload)
            else { return nil }
            self = claims
        }
    }
}

extension Data {
    /// Decodes base64url without padding (RFC 4648).
    init?(base64URL text: some StringProtocol) {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
    }
}
