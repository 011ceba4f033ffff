import Crypto
import PushRegistry

/// The digest that tells an unchanged registration (R2): of everything that a registration says, in canonical form.
///
/// It is stored beside the installation and compared by a look-up of one index entry. It speaks for the row only while
/// the row's generation is the registration's: whatever else changes the binding raises the generation, and so retires
/// the digest.
package enum RegistrationDigest {
    package static func make(_ registration: Registration) -> [UInt8] {
        var bytes = CanonicalBytes(version: 1)
        bytes.append(registration.token.provider.rawValue)
        bytes.append(registration.tokenSHA256)
        bytes.append(registration.keys?.p256dh)
        bytes.append(registration.keys?.auth)
        bytes.append(registration.owner?.userID.rawValue)
        bytes.append(registration.owner?.session?.id.rawValue)
        bytes.append(registration.owner?.session?.expiresAt?.microseconds ?? -1)
        bytes.append(registration.snapshotDigest)
        return Array(SHA256.hash(data: bytes.bytes).prefix(Registration.digestBytes))
    }
}
