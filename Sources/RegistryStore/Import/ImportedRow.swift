import Crypto
import PushRegistry

/// A line of an import with the values that the registry adds. A class, because copies of an installation are costly.
final class ImportedRow: Sendable {
    let installation: ImportedInstallation
    let tokenSHA256: [UInt8]
    let userSHA256: [UInt8]?
    let snapshotDigest: [UInt8]
    /// The cell of the roll-up; 0 in a dry run, which counts nothing.
    let cell: Int64

    init(_ installation: ImportedInstallation, cell: Int64) {
        self.installation = installation
        tokenSHA256 = SHA256.hash(data: Array(installation.token.text.utf8)).withUnsafeBytes { Array($0) }
        userSHA256 = installation.userID.map { UserDigest.sha256($0) }
        snapshotDigest = SHA256.hash(data: installation.snapshot.canonicalBytes).withUnsafeBytes { digest in
            Array(digest.prefix(Registration.digestBytes))
        }
        self.cell = cell
    }

    /// As `installation.registrant` has it.
    var registrant: Int64? { userSHA256.map { UserDigest.registrant($0) } }
}
