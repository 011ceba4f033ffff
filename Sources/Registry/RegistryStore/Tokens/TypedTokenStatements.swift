import PostgresClient
import PushRegistry

/// The SQL of typed tokens. `$1` is the app. The lock of an installation protects its rows.
package enum TypedTokenStatements {
    // MARK: Reading

    /// Begins a transaction that changes sets of typed tokens. It locks the buckets of the tokens that it adds, after
    /// those of users and sessions, and finds their holders. Then it locks these installations, and reads the sets. So
    /// no two installations get one token (R1), and whoever loses one is locked.
    ///
    /// - Parameter first: what comes before, in the same round trip.
    /// - Returns: the installations that have a token. They may lose it before they are locked, but no other one gets
    ///   it.
    static func lockHolders(
        of tokens: some Sequence<TypedTokenAddress>, in app: AppNumber, after first: [PostgresStatement],
        _ transaction: PostgresTransaction
    ) async throws -> [InstallID] {
        let tokens = Array(Set(tokens))
        let find = holders(app.rawValue, tokens.map(\.kind.rawValue), tokens.map(\.sha256))
        let locks = tokens.isEmpty ? [] : [LockBuckets(tokens: tokens, in: app).exclusive, find]
        guard !(first + locks).isEmpty else { return [] }
        let results = try await transaction.execute(first + locks)
        return tokens.isEmpty ? [] : try results[results.count - 1].map { try InstallID($0.decode(0)) }
    }

    /// PUT …/installations/{installId}, …/tokens/{kind}/{name} (R1): finds the holders of these tokens.
    private static let holders = PreparedSQL(
        """
        SELECT DISTINCT h.install_id
        FROM unnest($2::text[]::token_kind[], $3::bytea[]) AS k (kind, token_sha256)
        CROSS JOIN LATERAL (
            SELECT install_id FROM typed_token
            WHERE app_id = $1 AND kind = k.kind AND token_sha256 = k.token_sha256 OFFSET 0) AS h
        """)

    /// The sets of installations, in any order. Expired tokens are among them.
    package static func sets(of ids: [InstallID], in app: AppNumber) -> PostgresStatement {
        setsSQL(app.rawValue, ids.map(\.rawValue))
    }

    private static let setsSQL = PreparedSQL(
        "SELECT \(sql: columns) FROM typed_token t WHERE t.app_id = $1 AND t.install_id = ANY ($2)")

    /// The columns of a row `t`, for `decode`.
    package static let columns: PostgresSQL = """
        t.install_id, t.kind, t.name, t.provider, t.token, t.token_sha256, t.received_at, t.expires_at, t.held,
        t.held_at
        """

    package static func decode(
        _ row: PostgresRow, in app: AppNumber
    ) throws -> (holder: InstallationKey, token: TypedToken) {
        var reader = ColumnReader(row)
        let holder = InstallationKey(app: app, installID: try InstallID(reader.next()))
        let key = TypedTokenKey(storedKind: try reader.nextLabel(), name: try reader.next())
        let provider: Provider = try reader.nextLabel()
        let (text, sha256) = (try Token(reader.next(), of: provider), try reader.next([UInt8].self))
        let (receivedAt, expiresAt) = (try reader.next(Timestamp.self), try reader.next(Timestamp?.self))
        let (isHeld, heldAt) = (try reader.next(Bool.self), try reader.next(Timestamp?.self))
        let token = TypedToken(
            key: key, token: text, sha256: sha256, receivedAt: receivedAt, expiresAt: expiresAt,
            heldAt: isHeld ? heldAt ?? receivedAt : nil)
        return (holder, token)
    }

    /// - Parameter rows: of `sets`, read when the installations were locked.
    static func locked(_ rows: PostgresResult, in app: AppNumber, at now: Timestamp) throws -> LockedTokens {
        LockedTokens(try rows.map { try decode($0, in: app) }, now: now)
    }

    // MARK: Writing

    /// Deletes all tokens of the kinds `$3`: the binding to which they belonged has ended.
    static let end = PreparedSQL(
        """
        DELETE FROM typed_token
        WHERE app_id = $1 AND install_id = ANY ($2) AND kind = ANY ($3::text[]::token_kind[])
        """)

    /// The statements that write what the rules have decided.
    static func write(_ changes: [LockedTokens.Change], in app: AppNumber) -> [PostgresStatement] {
        let removed = changes.flatMap { change in change.removed.map { (change.key.installID.rawValue, $0) } }
        let written = changes.flatMap { change in change.written.map { Row(holder: change.key, token: $0) } }
        let remove = removeSQL(app.rawValue, removed.map(\.0), removed.map(\.1.kind.rawValue), removed.map(\.1.name))
        return [removed.isEmpty ? nil : remove, Row.layout.statement(putSQL, written, of: app)].compactMap(\.self)
    }

    private static let removeSQL = PreparedSQL(
        """
        DELETE FROM typed_token t
        USING unnest($2::text[], $3::text[]::token_kind[], $4::text[]) AS k (install_id, kind, name)
        WHERE t.app_id = $1 AND t.install_id = k.install_id AND t.kind = k.kind AND t.name = k.name
        """)

    private static let putSQL = PreparedSQL(
        """
        INSERT INTO typed_token (app_id, \(sql: Row.layout.written.names))
        SELECT \(sql: AppRow.app), \(sql: Row.layout.written.values)
        FROM \(sql: AppRow.beside(Row.layout.columns.unnest(from: 2)))
        ORDER BY k.install_id, k.kind, k.name
        ON CONFLICT (app_id, install_id, kind, name) DO UPDATE
        SET provider = excluded.provider, token = excluded.token, token_sha256 = excluded.token_sha256,
            received_at = excluded.received_at, expires_at = excluded.expires_at, held = excluded.held,
            held_at = excluded.held_at
        """)

    private struct Row: Sendable {
        let holder: InstallationKey
        let token: TypedToken

        static let layout = RowLayout<Row>(
            keys: [],
            written: [
                .init("install_id", "text") { $0.holder.installID.rawValue },
                .init("kind", "text", cast: "token_kind") { $0.token.key.kind.rawValue },
                .init("name", "text") { $0.token.key.name },
                .init("provider", "text", cast: "provider") { $0.token.token.provider.rawValue },
                .init("token", "text") { $0.token.token.text },
                .init("token_sha256", "bytea") { $0.token.sha256 },
                .init("received_at", "timestamptz") { $0.token.receivedAt.postgres },
                .init("expires_at", "timestamptz") { $0.token.expiresAt?.postgres },
                .init("held", "boolean") { $0.token.isHeld },
                .init("held_at", "timestamptz") { $0.token.heldAt?.postgres },
            ])
    }
}

/// Writes a call about one token as one transaction of three round trips (R15).
struct TypedTokenWriter {
    let change: TypedTokenChange

    private var app: AppNumber { change.key.app }

    /// - Throws: `TypedTokenRefusal`, `PostgresError`: nothing was written.
    func write(_ transaction: PostgresTransaction) async throws -> TypedTokenOutcome {
        let losers = try await TypedTokenStatements.lockHolders(
            of: [change.added].compactMap(\.self), in: app, after: LockTimeoutStatements.of(.alone), transaction)
        let ids = Array(Set([change.key.installID] + losers))
        let checks = CredentialChecks([(change.credential, change.key, change.sessionTombstones)], in: app)
        let results = try await transaction.execute(
            [
                InstallationStatements.lock(app.rawValue, ids.map(\.rawValue)), RegistrationStatements.now(),
                TypedTokenStatements.sets(of: ids, in: app),
            ] + checks.statements)
        let moment = try Moment(results[1])
        guard try checks.refusals(results[3...], at: moment.time).isEmpty else {
            throw TypedTokenRefusal.credentialEnded
        }
        let stored = Dictionary(
            uniqueKeysWithValues: try results[0].map { try InstallationColumns.decode($0) }
                .map { ($0.installation.key, $0) })
        var tokens = try TypedTokenStatements.locked(results[2], in: app, at: moment.time)
        let events = try change.apply(on: stored.mapValues(\.installation), &tokens, at: moment.time)
        var changes = ChangeSet(in: app, at: moment.time)
        for key in tokens.disturbed.sorted() {
            guard let installation = stored[key] else { continue }
            changes.change(installation, to: installation.installation, changingTokens: true)
        }
        changes.write(tokens.changes)
        changes.record(events)
        try await transaction.commit(changes, at: moment)
        return TypedTokenOutcome(
            generation: stored[change.key]?.installation.generation ?? 0, count: tokens.count(on: change.key))
    }
}
