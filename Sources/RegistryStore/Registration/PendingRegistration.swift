import PostgresClient
import PushRegistry

/// A queued registration, with the results of look-ups so far.
struct PendingRegistration: BatchedWrite {
    let registration: Registration
    /// Of all that the registration says: its binding and its snapshot.
    let digest: [UInt8]
    /// The directory's version by which the registration was authorized; nil if the directory was read for it.
    let directoryVersion: Int64?
    /// The result of the look-up.
    private(set) var finding = RegistrationFinding.other
    /// Of the owner's id, once something was found that must be written.
    private(set) var userSHA256: [UInt8]?

    typealias Outcome = RegistrationOutcome

    init(_ registration: Registration, ifDirectoryIs version: Int64? = nil) {
        self.registration = registration
        digest = RegistrationDigest.make(registration)
        directoryVersion = version
    }

    /// The registration to write, after the look-up.
    func toWrite(_ finding: RegistrationFinding) -> PendingRegistration {
        var pending = self
        pending.finding = finding
        pending.userSHA256 = registration.owner.map { UserDigest.sha256($0.userID) }
        return pending
    }

    var app: AppNumber { registration.key.app }
    var key: InstallID { registration.key.installID }
}

/// The installation that the look-up found.
enum RegistrationFinding: Sendable {
    /// The registration changes nothing, and this is the outcome.
    case unchanged(RegistrationOutcome)
    /// The row has not changed since its last registration, and has this registration's token, user and session. The
    /// registration changes no other installation; a write without a lock compares the revision.
    case bound(Bound)
    /// The installation did not exist at this time. On plain PostgreSQL, no installation had claimed the token.
    case absent(at: Timestamp)
    /// The row has the registration's token, but another user or session, or other choices about topics: the rules
    /// decide under its lock.
    case holder
    /// The installation did not exist, and the token has a row in `token_holder`: the rules decide under its lock.
    case claimed
    /// Anything else: the rules decide under the locks of tokens too.
    case other

    struct Bound: Sendable {
        let generation: Int64
        let epoch: Int64
        let revision: Int64
        let cell: Int64
        let sessionExpiresAt: Timestamp?
        /// Whether it has the registration's snapshot.
        let hasSnapshot: Bool
        /// Whether only `lastSeenAt` is due: the registration has the same values.
        let isSame: Bool
        let readAt: Timestamp
    }
}
