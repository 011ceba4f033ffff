import PostgresClient
import PushRegistry

/// The checks of users' JWTs within the transaction of a batch (R7).
struct CredentialChecks {
    private let app: AppNumber
    private var guards: RegistrationGuards
    private let items: [(index: Int, credential: UserCredential, key: InstallationKey?, memory: ISO8601Duration)]

    /// - Parameter batch: calls, each with its credential, the installation whose logouts also end it, and how long the
    ///   ends of sessions are remembered. No two are about the same installation.
    init(
        _ batch: [(credential: UserCredential?, key: InstallationKey?, memory: ISO8601Duration)], in app: AppNumber
    ) {
        self.app = app
        items = batch.enumerated().compactMap { index, call in
            call.credential.map { (index, $0, call.key, call.memory) }
        }
        guards = RegistrationGuards(in: app)
        for (_, credential, key, _) in items {
            guards.add(credential.owner, UserDigest.sha256(credential.owner.userID), on: key)
        }
    }

    var statements: [PostgresStatement] { items.isEmpty ? [] : guards.reads }

    /// The indices in the batch of the calls whose credential has ended.
    func refusals(_ results: ArraySlice<PostgresResult>, at now: Timestamp) throws -> Set<Int> {
        guard !items.isEmpty else { return [] }
        let tombstones = try guards.decode(results).tombstones
        let ended = items.filter { item in
            tombstones.hasEnded(item.credential, on: item.key, in: app, remembering: item.memory, at: now)
        }
        return Set(ended.map(\.index))
    }
}

extension PostgresUserStore {
    /// GET and DELETE of an installation by a user's JWT (R7): a read without locks.
    public func hasEnded(
        _ credential: UserCredential, on key: InstallationKey?, in app: AppNumber,
        remembering tombstones: ISO8601Duration
    ) async throws -> Bool {
        try await resources.storing(app) {
            let checks = CredentialChecks([(credential, key, tombstones)], in: app)
            let results = try await resources.postgres.read([RegistrationStatements.time()] + checks.statements)
            let now = Timestamp(try results[0][0].decode(0, as: PostgresTimestamp.self))
            return try !checks.refusals(results[1...], at: now).isEmpty
        }
    }
}
