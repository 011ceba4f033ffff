import Crypto
import PushRegistry

/// The digest that identifies an unchanged registration (R2): of all its values, in canonical form.
///
/// The installation's row stores it, and a look-up of one index entry compares it. It is valid only while the row has
/// the generation of that registration: every other change of the binding increments the generation.
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
