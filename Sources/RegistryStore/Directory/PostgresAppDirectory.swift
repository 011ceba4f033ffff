import EventLoop
import PostgresClient
import PushRegistry

/// Apps and keys in PostgreSQL, cached. One lives on each event loop.
///
/// The cache is never trusted for longer than one question: whoever asks is answered after a look at the directory's
/// version that began after the question, so a revoked key fails on the next request wherever it was revoked. All who ask
/// during one look share the next.
public actor PostgresAppDirectory: AppDirectory {
    /// Requests that wait for a look; more are refused.
    static let waitingMax = 16_384

    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let postgres: PostgresClient
    private var cached = DirectorySnapshot(version: 0, apps: [], keys: [])
    private var questions = BatchQueue<CheckedContinuation<DirectorySnapshot, any Error>>(
        countMax: waitingMax, batchMax: waitingMax)

    public init(postgres: PostgresClient) {
        self.postgres = postgres
        loop = postgres.loop
    }

    public func current() async throws -> DirectorySnapshot {
        try await withCheckedThrowingContinuation { continuation in
            guard !questions.append(continuation) else { return }
            continuation.resume(throwing: questions.isFinished ? StoreError.unavailable : StoreError.overloaded)
        }
    }

    /// Answers until it is cancelled.
    public func run() async {
        await withTaskCancellationHandler {
            while !questions.isFinished {
                await withCheckedContinuation { questions.park($0) }
                let batch = questions.takeBatch()
                if !batch.isEmpty { await answer(batch) }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
        }
    }

    private func finish() {
        for question in questions.finish() { question.resume(throwing: StoreError.unavailable) }
    }

    private func answer(_ batch: [CheckedContinuation<DirectorySnapshot, any Error>]) async {
        do {
            let snapshot = try await refresh()
            for question in batch { question.resume(returning: snapshot) }
        } catch {
            for question in batch { question.resume(throwing: StoreError(error)) }
        }
    }

    private func refresh() async throws -> DirectorySnapshot {
        let rows = try await postgres.execute(PostgresStatement(DirectoryStatements.version))
        guard try rows[0].decode(0, as: Int64.self) != cached.version else { return cached }
        cached = try await load()
        return cached
    }

    /// Version, apps and keys of one moment.
    private func load() async throws -> DirectorySnapshot {
        try await postgres.withTransaction(.snapshot) { transaction in
            let results = try await transaction.execute([
                PostgresStatement(DirectoryStatements.version), PostgresStatement(DirectoryStatements.apps),
                PostgresStatement(DirectoryStatements.keys),
            ])
            return DirectorySnapshot(
                version: try results[0][0].decode(0), apps: try results[1].map(App.init),
                keys: try results[2].map(APIKey.init))
        }
    }

    public func put(_ id: AppID, policy: AppPolicy) async throws -> (app: App, isNew: Bool) {
        do {
            let rows = try await postgres.execute(
                PostgresStatement(DirectoryStatements.putApp, id.rawValue, PolicyDocument(policy).text()))
            let number = AppNumber(try rows[0].decode(0))
            return (App(number: number, id: id, policy: policy), try rows[0].decode(1))
        } catch {
            throw StoreError(error)
        }
    }

    public func add(_ key: APIKey) async throws {
        do {
            _ = try await postgres.execute(
                PostgresStatement(
                    DirectoryStatements.addKey, key.id, key.app.rawValue, key.name, key.roles.map(\.rawValue),
                    key.secretSHA256, key.createdAt.postgres))
        } catch {
            throw StoreError(error)
        }
    }

    public func revokeKey(_ id: String, of app: AppNumber) async throws -> Bool {
        do {
            let rows = try await postgres.execute(PostgresStatement(DirectoryStatements.revokeKey, id, app.rawValue))
            return !rows.isEmpty
        } catch {
            throw StoreError(error)
        }
    }
}

private enum DirectoryStatements {
    static let version = PreparedSQL("SELECT version FROM directory_version")

    static let apps = PreparedSQL("SELECT id, identifier, policy FROM app")

    static let keys = PreparedSQL(
        "SELECT id, app_id, name, roles::text[], secret_sha256, created_at, revoked_at FROM api_key")

    static let putApp = PreparedSQL(
        """
        INSERT INTO app (identifier, policy) VALUES ($1, $2::jsonb)
        ON CONFLICT (identifier) DO UPDATE SET policy = excluded.policy, updated_at = now()
        RETURNING id, xmax = 0
        """)

    static let addKey = PreparedSQL(
        """
        INSERT INTO api_key (id, app_id, name, roles, secret_sha256, created_at)
        VALUES ($1, $2, $3, $4::text[]::role[], $5, $6)
        """)

    static let revokeKey = PreparedSQL(
        """
        UPDATE api_key SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 AND app_id = $2 RETURNING id
        """)
}

extension App {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            number: AppNumber(try row.decode(0)), id: try AppID(row.decode(1)),
            policy: try PolicyDocument(text: row.decode(2)).policy())
    }
}

extension APIKey {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            id: try row.decode(0), app: AppNumber(try row.decode(1)), name: try row.decode(2),
            // A role that a newer migration added gives nothing here.
            roles: Set(try row.decode(3, as: [String].self).compactMap(Role.init(rawValue:))),
            secretSHA256: try row.decode(4), createdAt: Timestamp(try row.decode(5)),
            revokedAt: try row.decode(6, as: PostgresTimestamp?.self).map(Timestamp.init))
    }
}
