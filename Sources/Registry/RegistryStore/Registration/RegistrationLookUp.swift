import PostgresClient
import PushRegistry

/// The first round trip of registrations (R2): finds out which of them change nothing, without a lock. Those that have
/// the bytes of the last one are not read any further.
struct RegistrationLookUp: BatchedRead {
    let sent: SentRegistration
    let directoryVersion: Int64?

    /// What a look-up found, before the registration is read. Each caller reads its own: reading those of a whole batch
    /// would hold the loop for long.
    enum Finding: Sendable {
        /// The registration has the bytes of the last one and changes nothing; this is the outcome.
        case unchanged(RegistrationOutcome)
        /// The installation does not exist.
        case absent
        /// The rules must decide under a lock, whatever the registration's values are.
        case contested(PostgresRow)
        /// The registration's values must be compared with this row.
        case installation(PostgresRow, at: Timestamp)
    }

    /// What became of a registration that was looked up.
    enum Decision {
        case unchanged(RegistrationOutcome)
        case changed(PendingRegistration)
    }

    var app: AppNumber { sent.key.app }

    static func statement(for reads: [Self], of app: AppNumber) -> PostgresStatement {
        RegistrationStatements.lookUp(app.rawValue, reads.map(\.sent.key.installID.rawValue))
    }

    static func findings(of reads: [Self], in rows: PostgresResult, at now: Timestamp) throws -> Results {
        let found = try Dictionary(
            rows.map { (try $0.decode(0, as: String.self), $0) }, uniquingKeysWith: { first, _ in first })
        return reads.map { read in
            guard let row = found[read.sent.key.installID.rawValue] else { return .success(.absent) }
            return Result { try find(read.sent, in: row, at: now) }
        }
    }

    /// - Parameter row: of an installation that exists.
    private static func find(_ sent: SentRegistration, in row: PostgresRow, at now: Timestamp) throws -> Finding {
        // R7: a JWT from before a logout everywhere is refused, even if the registration changes nothing.
        let boundIssuedAt = try row.decode(13, as: Timestamp?.self)
        guard try row.decode(4), !sent.claim.mayPrecedeLogout(before: boundIssuedAt),
            !sent.claim.needsProof(isOwned: !row.isNull(6))
        else { return .contested(row) }
        if !sent.mayHaveTopics {
            let match = row.match(sent.digest, now)
            if match.isSame, let outcome = try row.outcomeIfUnchanged(sent.claim, match, now) {
                return .unchanged(outcome)
            }
        }
        return .installation(row, at: now)
    }
}

extension RegistrationLookUp.Finding {
    /// Reads the registration if it must be, and compares its values.
    ///
    /// - Throws: the faults of its bytes.
    func decision(about sent: SentRegistration) throws -> RegistrationLookUp.Decision {
        switch self {
        case .unchanged(let outcome): return .unchanged(outcome)
        case .absent: return .changed(PendingRegistration(try sent.read(), digest: sent.digest, .absent))
        case .contested(let row):
            let registration = try sent.read()
            let finding = row.match(registration) == .other ? RegistrationFinding.other : .holder
            return .changed(PendingRegistration(registration, digest: sent.digest, finding))
        case .installation(let row, let now): return try Self.compare(sent, with: row, at: now)
        }
    }

    private static func compare(
        _ sent: SentRegistration, with row: PostgresRow, at now: Timestamp
    ) throws -> RegistrationLookUp.Decision {
        let registration = try sent.read()
        let (token, match) = (row.match(registration), row.match(sent.digest, now))
        // The row does not show typed tokens: the rules compare them under its lock.
        let hasOtherTokens = registration.tokens != nil && !match.isSame
        let isSame = try match.isSame || !hasOtherTokens && token == .same && row.hasValues(of: registration)
        let keepsTopics = try registration.topics.isEmpty || row.choices(at: 15).contain(registration.topics)
        if isSame, keepsTopics, let outcome = try row.outcomeIfUnchanged(sent.claim, match, now) {
            return .unchanged(outcome)
        }
        let finding: RegistrationFinding =
            switch token {
            case .other: .other
            case .same where keepsTopics && !hasOtherTokens:
                try find(registration, in: row, isSame ? match : nil, at: now)
            case .same, .respelled: .holder
            }
        return .changed(PendingRegistration(registration, digest: sent.digest, finding))
    }

    /// - Parameters:
    ///   - row: of an installation that has the registration's token.
    ///   - same: nil if it has other values.
    private static func find(
        _ registration: Registration, in row: PostgresRow, _ same: StoredDigest.Match?, at now: Timestamp
    ) throws -> RegistrationFinding {
        let sessionExpiresAt = try row.sessionExpiresAt
        guard row.hasOwner(of: registration), !registration.claim.isOutlived(by: sessionExpiresAt) else {
            return .holder
        }
        return .bound(
            RegistrationFinding.Bound(
                generation: try row.decode(2), epoch: try row.decode(14), revision: try row.decode(8),
                cell: try row.decode(9), sessionExpiresAt: sessionExpiresAt,
                lastSeenAt: try row.decode(3), topics: try row.choices(at: 18),
                hasSnapshot: row.holds(registration.snapshotDigest, at: 11), isSame: same != nil,
                expiredTokens: same?.expired, readAt: now))
    }
}

extension PostgresRow {
    fileprivate func choices(at column: Int) throws -> TopicChoices {
        TopicChoices(codes: try decode(column, as: [Int32]?.self) ?? [])
    }

    private var provider: Provider {
        get throws {
            guard let provider = Provider.allCases.first(where: { holds($0.rawValue.utf8, at: 12) }) else {
                throw StoreError.failed("an installation has an unknown provider")
            }
            return provider
        }
    }

    fileprivate var sessionExpiresAt: Timestamp? {
        get throws { try decode(10, as: Timestamp?.self) }
    }

    fileprivate func outcomeIfUnchanged(
        _ claim: RegistrationClaim, _ match: StoredDigest.Match, _ now: Timestamp
    ) throws -> RegistrationOutcome? {
        claim.outcomeIfUnchanged(
            generation: try decode(2), epoch: try decode(14), provider: try provider,
            lastSeenAt: Timestamp(try decode(3)), expiredTokens: match.expired, now: now)
    }

    /// Whether the row's last registration had this digest.
    fileprivate func match(_ digest: [UInt8], _ now: Timestamp) -> StoredDigest.Match {
        withBytes(1) { span in span.withUnsafeBytes { StoredDigest.match($0, digest, at: now) } } ?? .none
    }

    /// How the registration's token compares with that of a row of a look-up.
    fileprivate func match(_ registration: Registration) -> TokenMatch {
        let isOfProvider = holds(registration.token.provider.rawValue.utf8, at: 12)
        return TokenMatch(
            isSameAddress: isOfProvider && holds(registration.tokenSHA256, at: 5),
            isSameSpelling: registration.token.spelling.map { holds($0.text.utf8, at: 19) })
    }

    /// Whether a row of a look-up that holds the token has all other values of the registration, too. The first
    /// registration of an imported installation rewrites it, even if it has the same values.
    fileprivate func hasValues(of registration: Registration) throws -> Bool {
        let isImported = holds(EmptyCollection(), at: 1)
        return try !isImported && holds(registration.snapshotDigest, at: 11) && hasOwner(of: registration)
            && sessionExpiresAt == registration.owner?.session?.expiresAt
            && holds(registration.keys?.p256dh, at: 16) && holds(registration.keys?.auth, at: 17)
    }

    /// Whether a row of a look-up has the registration's user and session.
    fileprivate func hasOwner(of registration: Registration) -> Bool {
        guard let owner = registration.owner else { return isNull(6) }
        let isSession = owner.session.map { holds($0.id.rawValue.utf8, at: 7) } ?? isNull(7)
        return holds(owner.userID.rawValue.utf8, at: 6) && isSession
    }

    /// Whether a column is this text; NULL for nil.
    private func holds(_ text: String?, at column: Int) -> Bool {
        text.map { holds($0.utf8, at: column) } ?? isNull(column)
    }

    /// Whether a column is just these bytes.
    fileprivate func holds(_ bytes: some Sequence<UInt8>, at column: Int) -> Bool {
        withBytes(column) { span in span.withUnsafeBytes { $0.elementsEqual(bytes) } } == true
    }
}

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
