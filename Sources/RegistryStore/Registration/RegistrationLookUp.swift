import PostgresClient
import PushRegistry

/// The first round trip of registrations (R2): finds out which of them change nothing, without a lock.
struct RegistrationLookUp: Sendable {
    let postgres: PostgresClient
    let clock: RegistryClock

    /// Looks up registrations of several apps, a statement for each app.
    ///
    /// - Returns: for each registration what was found, in the same order; `DirectoryChanged` where the directory has
    ///   another version than the registration names.
    /// - Throws: `PostgresError`, `PostgresDecodeError`.
    func find(
        _ batches: [(app: AppNumber, items: [PendingRegistration])]
    ) async throws -> [[Result<RegistrationFinding, DirectoryChanged>]] {
        let statements = batches.map { app, items in
            PostgresStatement(
                RegistrationStatements.lookUp, app.rawValue, items.map(\.registration.key.installID.rawValue))
        }
        let results = try await postgres.execute(statements)
        return try zip(batches, results).map { batch, rows in
            try zip(batch.items, rows).map { pending, row in
                if let version = pending.directoryVersion, try row.decode(14) != version {
                    .failure(DirectoryChanged())
                } else {
                    .success(try finding(of: pending, in: row))
                }
            }
        }
    }

    /// A row of `RegistrationStatements.lookUp`.
    private func finding(of pending: PendingRegistration, in row: PostgresRow) throws -> RegistrationFinding {
        let now = clock.now(Timestamp(try row.decode(0, as: PostgresTimestamp.self)))
        guard !row.isNull(1) else { return .absent(at: now) }
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
                generation: generation, lastSeenAt: Timestamp(try row.decode(3)), now: now)
            if let outcome { return .unchanged(outcome) }
        }
        guard holdsToken else { return .other }
        guard keepsTopics, row.hasOwner(of: pending.registration) else { return .holder }
        return .bound(
            RegistrationFinding.Bound(
                generation: generation, revision: try row.decode(8), cell: try row.decode(9),
                sessionExpiresAt: try row.decode(10, as: PostgresTimestamp?.self).map(Timestamp.init),
                hasSnapshot: row.holds(pending.registration.snapshotDigest, at: 11), isSame: isSame,
                isImported: row.holds([], at: 1), readAt: now))
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
