import PostgresClient
import PushRegistry

/// The first round trip of registrations (R2): finds out which of them change nothing, without a lock.
struct RegistrationLookUp: Sendable {
    let clock: RegistryClock
    let isDistributed: Bool

    /// For registrations of one app.
    func statements(_ app: AppNumber, _ batch: [PendingRegistration]) -> [PostgresStatement] {
        let ids = batch.map(\.key.rawValue)
        guard !isDistributed else {
            return [
                PostgresStatement(RegistrationStatements.lookUpOnCitus, app.rawValue, ids),
                PostgresStatement(DirectoryStatements.moment),
            ]
        }
        return [
            PostgresStatement(
                RegistrationStatements.lookUp, app.rawValue, ids,
                batch.map(\.registration.token.provider.rawValue), batch.map(\.registration.tokenSHA256))
        ]
    }

    /// - Parameter results: of `statements`.
    /// - Returns: for each registration what was found, in the same order; `DirectoryChanged` where the directory has
    ///   another version than the registration names.
    func findings(
        of batch: [PendingRegistration], in results: [PostgresResult]
    ) throws -> [Result<RegistrationFinding, any Error>] {
        guard !isDistributed else { return try findingsOnCitus(of: batch, in: results[0], moment: results[1][0]) }
        return try zip(batch, results[0]).map { pending, row in
            if let version = pending.directoryVersion, try version != row.decode(17) {
                return .failure(DirectoryChanged())
            }
            let now = clock.now(Timestamp(try row.decode(0)))
            guard row.isNull(1) else { return .success(try finding(of: pending, in: row, at: now)) }
            return .success(row.isNull(16) ? .absent(at: now) : .claimed)
        }
    }

    /// - Parameters:
    ///   - rows: of `RegistrationStatements.lookUpOnCitus`.
    ///   - moment: of `DirectoryStatements.moment`.
    private func findingsOnCitus(
        of batch: [PendingRegistration], in rows: PostgresResult, moment: PostgresRow
    ) throws -> [Result<RegistrationFinding, any Error>] {
        let (version, now) = (try moment.decode(0, as: Int64.self), clock.now(Timestamp(try moment.decode(1))))
        let found = try Dictionary(
            rows.map { (try $0.decode(0, as: String.self), $0) }, uniquingKeysWith: { first, _ in first })
        return try batch.map { pending in
            guard pending.directoryVersion ?? version == version else { return .failure(DirectoryChanged()) }
            guard let row = found[pending.key.rawValue] else { return .success(.absent(at: now)) }
            return .success(try finding(of: pending, in: row, at: now))
        }
    }

    /// - Parameter row: of an installation that exists.
    private func finding(
        of pending: PendingRegistration, in row: PostgresRow, at now: Timestamp
    ) throws -> RegistrationFinding {
        let holdsToken = row.holdsToken(of: pending.registration)
        guard try row.decode(4) else { return holdsToken ? .holder : .other }
        let isSame = row.holds(pending.digest, at: 1)
        let generation: Int64 = try row.decode(2)
        // R7: a JWT from before a logout everywhere is refused, even if the registration changes nothing.
        let boundIssuedAt = try row.decode(13, as: PostgresTimestamp?.self).map(Timestamp.init)
        guard !pending.registration.mayPrecedeLogout(before: boundIssuedAt) else {
            return holdsToken ? .holder : .other
        }
        // The digest says nothing about topics: most registrations have none.
        let keepsTopics = try pending.registration.topics.isEmpty || row.choices.contain(pending.registration.topics)
        if isSame, keepsTopics {
            let outcome = pending.registration.outcomeIfUnchanged(
                generation: generation, epoch: try row.decode(14), lastSeenAt: Timestamp(try row.decode(3)), now: now)
            if let outcome { return .unchanged(outcome) }
        }
        guard holdsToken else { return .other }
        guard keepsTopics, row.hasOwner(of: pending.registration) else { return .holder }
        return .bound(
            RegistrationFinding.Bound(
                generation: generation, epoch: try row.decode(14), revision: try row.decode(8), cell: try row.decode(9),
                sessionExpiresAt: try row.decode(10, as: PostgresTimestamp?.self).map(Timestamp.init),
                hasSnapshot: row.holds(pending.registration.snapshotDigest, at: 11), isSame: isSame,
                readAt: now))
    }
}

extension PostgresRow {
    /// The choices on the installation of a look-up.
    fileprivate var choices: TopicChoices {
        get throws { TopicChoices(codes: try decode(15, as: [Int32]?.self) ?? []) }
    }

    /// Whether a row of a look-up has the registration's token.
    fileprivate func holdsToken(of registration: Registration) -> Bool {
        holds(registration.tokenSHA256, at: 5) && holds(registration.token.provider.rawValue.utf8, at: 12)
    }

    /// Whether a row of a look-up has the registration's user and session.
    fileprivate func hasOwner(of registration: Registration) -> Bool {
        guard let owner = registration.owner else { return isNull(6) }
        let isSession = owner.session.map { holds($0.id.rawValue.utf8, at: 7) } ?? isNull(7)
        return holds(owner.userID.rawValue.utf8, at: 6) && isSession
    }

    /// Whether a column is just these bytes.
    fileprivate func holds(_ bytes: some Sequence<UInt8>, at column: Int) -> Bool {
        withBytes(column) { span in span.withUnsafeBytes { $0.elementsEqual(bytes) } } == true
    }
}
