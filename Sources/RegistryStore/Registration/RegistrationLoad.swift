import PostgresClient
import PushRegistry

/// What a transaction locks and reads before the rules decide, in one unit: users, sessions, installations.
struct RegistrationLoad {
    private let registrations: [Registration]
    /// Those that may concern more than their own installation.
    private let wide: [Registration]
    /// Of those of them that may begin a binding (R7).
    private let guards: RegistrationGuards?

    /// - Parameter wide: the installations whose registrations may concern others.
    init(_ batch: [PendingRegistration], wide keys: Set<InstallationKey>) {
        registrations = batch.map(\.registration)
        wide = registrations.filter { keys.contains($0.key) }
        guards = RegistrationGuards(wide)
    }

    var statements: [PostgresStatement] {
        let lock = PostgresStatement(
            RegistrationStatements.lock, registrations.map(\.key.app.rawValue),
            registrations.map(\.key.installID.rawValue),
            wide.map(\.key.app.rawValue), wide.map(\.token.provider.rawValue), wide.map(\.tokenSHA256),
            wide.map(\.snapshot.device.keychainID))
        let now = PostgresStatement(RegistrationStatements.now)
        return (guards?.locks ?? []) + [lock, now] + (guards.map { [$0.logouts] } ?? [])
    }

    /// - Throws: `ForgottenGuard`.
    func decode(_ results: [PostgresResult]) throws -> LockedInstallations {
        let first = guards == nil ? 0 : RegistrationGuards.lockCount
        let signOuts = try guards?.decode(locks: results[..<first], logouts: results[first + 2])
        return LockedInstallations(
            try results[first].map { try InstallationColumns.decode($0) }, signOuts: signOuts ?? SignOuts(),
            now: Timestamp(try results[first + 1][0].decode(0)))
    }
}
