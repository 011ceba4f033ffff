import Crypto
import PostgresClient
import PushRegistry
import RegistryStore

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
        tokenSHA256 = installation.token.addressSHA256 { SHA256.hash(data: $0).withUnsafeBytes { Array($0) } }
        userSHA256 = installation.userID.map { UserDigest.sha256($0) }
        snapshotDigest = SHA256.hash(data: installation.snapshot.canonicalBytes).withUnsafeBytes { digest in
            Array(digest.prefix(Registration.digestBytes))
        }
        self.cell = cell
    }

    var id: InstallID { installation.installID }

    func address(in app: AppNumber) -> TokenAddress {
        TokenAddress(app: app, provider: installation.token.provider, sha256: tokenSHA256)
    }

    /// Binds the columns of `ImportStatements.installations`.
    ///
    /// An empty registration digest matches no registration: the first registration writes the row, and may bind a
    /// session. A time in the future counts as now.
    ///
    /// - Parameter topics: the choices, over those of the user.
    func bind(of app: AppNumber, topics: TopicChoices, at moment: Moment, to binds: inout PostgresBinds) {
        let now = moment.time.postgres
        let registrant = userSHA256.map { UserDigest.registrant($0) }
        let generation = Installation.firstGeneration(moment.number)
        let seenAt = installation.lastSeenAt.map { min($0, moment.time) } ?? moment.time
        binds.bind(app.rawValue)
        binds.bind(installation.installID.rawValue)
        binds.bind(installation.token.provider.rawValue)
        binds.bind(installation.token.text)
        binds.bind(tokenSHA256)
        binds.bind(installation.keys?.p256dh)
        binds.bind(installation.keys?.auth)
        binds.bind(installation.userID?.rawValue)
        binds.bind(installation.session?.id.rawValue)
        binds.bind(installation.session?.expiresAt?.postgres)
        binds.bind(registrant)
        binds.bind(registrant)
        binds.bind(InstallationState.active.rawValue)
        for _ in 0..<4 { binds.bind(generation) }
        binds.bind((installation.createdAt.map { min($0, seenAt) } ?? seenAt).postgres)
        binds.bind(seenAt.postgres)
        binds.bind(seenAt.postgres)
        binds.bind(now)
        binds.bind(now)
        binds.bind(cell)
        binds.bind([UInt8]())
        binds.bind(snapshotDigest)
        binds.bind(installation.topicChoices.stored)
        binds.bind(topics.stored)
        SnapshotColumns.batch.bind(installation.snapshot, to: &binds)
    }
}
