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
        _ batches: [(app: AppNumber, items: [PendingRegistration])], timeout: Duration? = nil
    ) async throws -> [[Result<RegistrationFinding, DirectoryChanged>]] {
        let isDistributed = postgres.isDistributed
        let lookUp = isDistributed ? RegistrationStatements.lookUpOnCitus : RegistrationStatements.lookUp
        let statements = batches.map { app, items in
            PostgresStatement(lookUp, app.rawValue, items.map(\.registration.key.installID.rawValue))
        }
        let moment = isDistributed ? [PostgresStatement(RegistrationStatements.momentOnCitus)] : []
        let results = try await postgres.execute(statements + moment, timeout: timeout)
        let last = isDistributed ? results[statements.count][0] : nil
        return try zip(batches, results).map { batch, rows in
            try zip(batch.items, rows).map { pending, row in
                if let version = pending.directoryVersion, try version != last?.decode(0) ?? row.decode(14) {
                    .failure(DirectoryChanged())
                } else {
                    .success(try finding(of: pending, in: row, at: try last?.decode(1) ?? row.decode(0)))
                }
            }
        }
    }

    /// A row of `RegistrationStatements.lookUp`.
    private func finding(
        of pending: PendingRegistration, in row: PostgresRow, at time: PostgresTimestamp
    ) throws -> RegistrationFinding {
        let now = clock.now(Timestamp(time))
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
        if isSame {
            let outcome = pending.registration.outcomeIfUnchanged(
                generation: generation, lastSeenAt: Timestamp(try row.decode(3)), now: now)
            if let outcome { return .unchanged(outcome) }
        }
        guard holdsToken else { return .other }
        guard row.hasOwner(of: pending.registration) else { return .holder }
        return .bound(
            RegistrationFinding.Bound(
                generation: generation, revision: try row.decode(8), cell: try row.decode(9),
                sessionExpiresAt: try row.decode(10, as: PostgresTimestamp?.self).map(Timestamp.init),
                hasSnapshot: row.holds(pending.registration.snapshotDigest, at: 11), isSame: isSame,
                isImported: row.holds([], at: 1), readAt: now))
    }
}

extension PostgresRow {
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
