import PostgresClient
import PushRegistry

/// A registration to write, with what was found of it.
struct PendingRegistration: BatchedWrite {
    let registration: Registration
    /// Of `SentRegistration`.
    let digest: [UInt8]
    var finding: RegistrationFinding
    /// Of the owner's id.
    let userSHA256: [UInt8]?

    typealias Outcome = RegistrationOutcome

    init(_ registration: Registration, digest: [UInt8], _ finding: RegistrationFinding) {
        (self.registration, self.digest, self.finding) = (registration, digest, finding)
        userSHA256 = registration.owner.map { UserDigest.sha256($0.userID) }
    }

    var app: AppNumber { registration.key.app }
    var key: InstallID { registration.key.installID }
}

/// What was found, without a lock, of a registration that must be written.
enum RegistrationFinding: Sendable {
    /// The row has not changed since its last registration, and has this registration's token, user and session. The
    /// registration changes no other installation; a write without a lock compares the revision.
    case bound(Bound)
    /// The installation does not exist, nor does a row of the token in `token_holder`, once that was looked for.
    case absent
    /// The row has the registration's token, but other values that may concern others: the rules decide under its lock.
    case holder
    /// The installation does not exist, but the token has a row in `token_holder`.
    case claimed
    /// Anything else: the rules decide under the locks of tokens too.
    case other

    struct Bound: Sendable {
        let generation: Int64
        let epoch: Int64
        let revision: Int64
        let cell: Int64
        let sessionExpiresAt: Timestamp?
        let lastSeenAt: Timestamp
        /// The merged choices.
        let topics: TopicChoices
        /// Whether it has the registration's snapshot.
        let hasSnapshot: Bool
        /// Whether only `lastSeenAt` is due: the registration has the same values.
        let isSame: Bool
        /// How many of the registration's typed tokens were left out; nil if it has none.
        let expiredTokens: Int?
        let readAt: Timestamp
    }
}
