import PostgresClient
import PushRegistry

/// Registrations against PostgreSQL: the look-up of a batch, and its transaction with what it retries.
struct RegistrationTransactions: Sendable {
    /// How often a batch that lost a race is tried again before its registrations are tried one by one.
    static let batchAttemptsMax = 3
    /// How often one registration is tried. A race is lost only to somebody who won it, so this is plenty.
    static let singleAttemptsMax = 20

    let postgres: PostgresClient
    let meters: StoreMeters

    /// What a look-up finds of a registration.
    enum Finding {
        /// It changes nothing, and this is its answer.
        case unchanged(RegistrationOutcome)
        /// The installation is as its last registration left it, holds the token and has the owner; this one says something else, or
        /// is to be recorded.
        case known
        /// It is new, or was changed by other ways.
        case unknown
    }

    /// For each registration whether it changes nothing, or a transaction must decide.
    func lookUp(_ batch: [PendingRegistration]) async throws -> [Finding] {
        let keys = batch.map(\.registration.key)
        let rows = try await postgres.execute(
            PostgresStatement(
                RegistrationStatements.lookUp, keys.map(\.app.rawValue), keys.map(\.installID.rawValue)))
        var findings = [Finding](repeating: .unknown, count: batch.count)
        for row in rows {
            let position = try row.decode(0, as: Int.self) - 1
            findings[position] = try finding(of: batch[position], as: row)
        }
        return findings
    }

    private func finding(of pending: PendingRegistration, as row: PostgresRow) throws -> Finding {
        guard row.holds(pending.digest, at: 1) else {
            return row.isBound(as: pending.registration) ? .known : .unknown
        }
        // R7: a JWT from before a logout everywhere is refused, even if it says what is known.
        let boundIssuedAt = try row.decode(8, as: PostgresTimestamp?.self).map(Timestamp.init)
        guard !pending.registration.mayPrecedeLogout(before: boundIssuedAt) else { return .unknown }
        let outcome = pending.registration.outcomeIfUnchanged(
            generation: try row.decode(2), lastSeenAt: Timestamp(try row.decode(3)), now: Timestamp(try row.decode(4)))
        return outcome.map(Finding.unchanged) ?? .known
    }

    /// Writes a batch; each of its registrations is answered in the end.
    func write(_ batch: [PendingRegistration]) async {
        do {
            let outcomes = try await attempt(batch, attemptsMax: Self.batchAttemptsMax)
            for (pending, outcome) in zip(batch, outcomes) { pending.finish(outcome) }
        } catch let error where batch.count > 1 && error.mayBeOneRegistration {
            meters.split()
            // Nobody fails for a neighbour: whoever is bad, or raced, is alone now.
            for pending in batch { await writeAlone(pending) }
        } catch {
            for pending in batch { pending.refuse(StoreError(error)) }
        }
    }

    private func writeAlone(_ pending: PendingRegistration) async {
        do {
            let outcome = try await attempt([pending], attemptsMax: Self.singleAttemptsMax)
            pending.finish(outcome[0])
        } catch {
            pending.refuse(StoreError(error))
        }
    }

    private func attempt(
        _ batch: [PendingRegistration], attemptsMax: Int
    ) async throws -> [Result<RegistrationOutcome, RegistrationRefusal>] {
        var attempts = 1
        // What the look-up found concerns nobody else, as a rule: one lock is enough.
        var wide = Set(batch.filter { !$0.wasKnown }.map(\.registration.key))
        while true {
            do {
                return try await transaction(batch, wide: wide)
            } catch let error as OthersConcerned {
                wide.formUnion(error.keys)
            } catch let error where attempts < attemptsMax && error.isLostToRival {
                attempts += 1
                meters.retried()
            }
        }
    }

    private func transaction(
        _ batch: [PendingRegistration], wide: Set<InstallationKey>
    ) async throws -> [Result<RegistrationOutcome, RegistrationRefusal>] {
        try await postgres.withTransaction { transaction in
            let load = RegistrationLoad(batch, wide: wide)
            let results = try await transaction.execute(load.statements)
            var locked = try load.decode(results)
            let widened = batch.map(\.registration).filter {
                !wide.contains($0.key) && $0.concernsOthers(than: locked[$0.key])
            }
            guard widened.isEmpty else { throw OthersConcerned(keys: widened.map(\.key)) }
            let outcomes = batch.map { pending in
                Result { () throws(RegistrationRefusal) in try locked.register(pending.registration) }
            }
            try await transaction.commit(after: RegistrationWrite(batch, locked).statements)
            EventMeters.count(locked.events)
            return outcomes
        }
    }
}

/// Registrations of which it became known only under the installations' locks that they concern others too: the token's
/// holder (R4), whom a new installation replaces (R5), a user and session (R7). Those locks come before, or in one order
/// with, the installations' own, so the transaction starts again.
private struct OthersConcerned: Error {
    let keys: [InstallationKey]
}

/// A user or session was made by somebody else between the look for it and the attempt to make it, or forgotten by the night job before it
/// was locked. Without the lock a logout might commit beside the binding that it ends (R7), so the transaction begins anew.
struct ForgottenGuard: Error {}

extension Error {
    fileprivate var isLostToRival: Bool { self is ForgottenGuard || (self as? PostgresError)?.isLostRace == true }
    fileprivate var mayBeOneRegistration: Bool {
        self is ForgottenGuard || (self as? PostgresError)?.mayBeOneItem == true
    }
}

extension PostgresRow {
    /// Whether a row of a look-up has the registration's token and owner, so that it concerns nobody else: no holder of the token, and
    /// neither user nor session.
    fileprivate func isBound(as registration: Registration) -> Bool {
        guard holds(registration.tokenSHA256, at: 5) else { return false }
        guard let owner = registration.owner else { return true }
        let isSession = owner.session.map { holds($0.id.rawValue.utf8, at: 7) } ?? isNull(7)
        return holds(owner.userID.rawValue.utf8, at: 6) && isSession
    }

    /// Whether a column is just these bytes.
    fileprivate func holds(_ bytes: some Sequence<UInt8>, at column: Int) -> Bool {
        withBytes(column) { span in span.withUnsafeBytes { $0.elementsEqual(bytes) } } == true
    }
}

extension PostgresError {
    /// Two transactions wanted the same, and the other one had it: a deadlock, a serialization failure, or the same new
    /// installation or token inserted twice.
    var isLostRace: Bool {
        switch kind {
        case .deadlock, .serializationFailure: true
        case .uniqueViolation(let constraint): constraint == "installation_pkey" || constraint == "installation_token"
        default: false
        }
    }
}
