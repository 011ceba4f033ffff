import PostgresClient
import PushRegistry

/// What a transaction does before it changes sets of typed tokens: it locks the buckets of the tokens that it adds,
/// finds their holders, locks these installations, and reads the sets under these locks. So no two installations get
/// one token (R1), and whoever loses one is locked.
struct TypedTokenLocks {
    private let app: AppNumber
    private let tokens: [TypedTokenAddress]

    init(adding tokens: some Sequence<TypedTokenAddress>, in app: AppNumber) {
        (self.app, self.tokens) = (app, Array(Set(tokens)))
    }

    /// Locks the buckets of the tokens, after those of users and sessions.
    ///
    /// - Parameter first: what comes before, in the same round trip.
    /// - Returns: the installations that have a token. They may lose it before they are locked, but no other one gets
    ///   it.
    func holders(
        after first: [PostgresStatement], _ transaction: PostgresTransaction
    ) async throws -> [InstallID] {
        guard !tokens.isEmpty else {
            if !first.isEmpty { _ = try await transaction.execute(first) }
            return []
        }
        let results = try await transaction.execute(
            first + [
                LockBuckets(tokens: tokens, in: app).exclusive, TypedTokenStatements.holders(of: tokens, in: app),
            ])
        return try results.last.map { try $0.map { try InstallID($0.decode(0)) } } ?? []
    }

    /// - Parameter rows: of `TypedTokenStatements.sets`, read when the installations were locked.
    static func sets(_ rows: PostgresResult, in app: AppNumber, at now: Timestamp) throws -> LockedTokens {
        LockedTokens(try rows.map { try TypedTokenStatements.decode($0, in: app) }, now: now)
    }
}
