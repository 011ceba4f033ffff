import Crypto
import PostgresClient
import PushRegistry

/// Digests of users, as guards and snapshots name them.
package enum UserDigest {
    package static func sha256(_ userID: UserID) -> [UInt8] {
        SHA256.hash(data: Array(userID.rawValue.utf8)).withUnsafeBytes { Array($0) }
    }

    /// The same in SQL; NULL without a user.
    ///
    /// - Parameter userID: an expression.
    package static func sha256(of userID: PostgresSQL) -> PostgresSQL { "sha256(convert_to(\(sql: userID), 'UTF8'))" }

    /// - Parameter digits: pairs of hexadecimal digits, as PostgreSQL writes them.
    package static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).map { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0
        }
    }

    /// The first 64 bits, as `installation.registrant` has them.
    package static func registrant(_ sha256: [UInt8]) -> Int64 {
        sha256.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}
