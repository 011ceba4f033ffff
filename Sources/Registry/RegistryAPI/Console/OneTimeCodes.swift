import Basics
import Crypto
import HTTPApplication
import PushRegistry

/// The one-time code of a link that `serve --demo` prints. It signs in the first person who opens it on this machine,
/// with the key of the demo app. There is one code at a time.
public final class OneTimeCodes: Sendable {
    /// The time to open the link.
    public static let lifetime = ISO8601Duration(seconds: 15 * 60)

    private struct Code: Sendable {
        let sha256: [UInt8]
        let keyID: String
        let expiresAt: Timestamp
    }

    private let code = Locked<Code?>(nil)

    public init() {}

    /// Replaces the code.
    ///
    /// - Returns: the code, to be shown once.
    public func issue(for keyID: String, at now: Timestamp) -> String {
        let text = String(hex: SymmetricKey(size: .bits256))
        let new = Code(
            sha256: Self.digest(text), keyID: keyID, expiresAt: now.advanced(by: Self.lifetime))
        code.withLock { $0 = new }
        return text
    }

    /// Uses the code up.
    ///
    /// - Returns: the id of the key; nil if the code is not this one, was used, or has expired.
    func redeem(_ text: String, at now: Timestamp) -> String? {
        code.withLock { code in
            guard let known = code, SHA256.hash(data: Array(text.utf8)) == known.sha256 else { return nil }
            code = nil
            return now < known.expiresAt ? known.keyID : nil
        }
    }

    private static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}
