import Basics
import CoreMetrics
import EventLoop
import PostgresClient
import PushRegistry

/// Apps, keys and topics in PostgreSQL, cached. Each event loop has one directory.
///
/// The cache is validated for each request: after the request has begun, a look-up reads the directory's version. So a
/// revoked key fails on the next request, on every service. All requests that begin during one look-up share the next.
public actor PostgresAppDirectory: AppDirectory {
    /// The most requests that wait for a look-up; more are refused.
    static let waitingMax = 16_384

    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    public nonisolated let postgres: PostgresClient
    private let cached = Locked(DirectorySnapshot(version: 0, apps: [], keys: []))
    /// A moment at which the cached snapshot was the current one.
    private var currentAt: ContinuousClock.Instant?
    /// Resumed exactly once: a request is refused or queued, and leaves the queue in a batch, which `serve` resumes on
    /// success and on failure, or at the end.
    private typealias Request = UnsafeContinuation<DirectorySnapshot, any Error>
    private var requests: [Request] = []
    private var isFinished = false
    /// Only `run()` waits. Nil once it is resumed.
    private var wake: UnsafeContinuation<Void, Never>?
    private let unusablePolicies: UnusablePolicies?

    /// - Parameter unusablePolicies: reports policies that cannot be used; nil: nobody does.
    public init(postgres: PostgresClient, unusablePolicies: UnusablePolicies? = nil) {
        self.postgres = postgres
        self.unusablePolicies = unusablePolicies
        loop = postgres.loop
    }

    public nonisolated var lastRead: DirectorySnapshot { cached.withLock { $0 } }

    public func current() async throws -> DirectorySnapshot {
        try await withUnsafeThrowingContinuation { continuation in
            guard !isFinished, requests.count < Self.waitingMax else {
                return continuation.resume(throwing: isFinished ? StoreError.unavailable : StoreError.overloaded)
            }
            requests.append(continuation)
            resume()
        }
    }

    public func current(within age: Duration) async throws -> DirectorySnapshot {
        guard let currentAt, loop.now - currentAt <= age else { return try await current() }
        return lastRead
    }

    /// Serves requests until it is cancelled.
    public func run() async {
        await withTaskCancellationHandler {
            while !isFinished {
                await withUnsafeContinuation { continuation in
                    if isFinished || !requests.isEmpty { continuation.resume() } else { wake = continuation }
                }
                let batch = requests
                requests = []
                if !batch.isEmpty { await serve(batch) }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
        }
    }

    private func finish() {
        isFinished = true
        for request in requests { request.resume(throwing: StoreError.unavailable) }
        requests = []
        resume()
    }

    private func resume() {
        wake?.resume()
        wake = nil
    }

    private func serve(_ batch: [Request]) async {
        do {
            let snapshot = try await refresh()
            for request in batch { request.resume(returning: snapshot) }
        } catch {
            for request in batch { request.resume(throwing: StoreError(error)) }
        }
    }

    private func refresh() async throws -> DirectorySnapshot {
        let start = loop.now
        let snapshot = try await validated()
        currentAt = start
        return snapshot
    }

    /// The cached snapshot if it is still current, or else a new one.
    private func validated() async throws -> DirectorySnapshot {
        let rows = try await postgres.read(DirectoryStatements.version())
        let last = lastRead
        guard let version = rows.first else { throw StoreError.failed("the table directory_version has no row") }
        guard try version.decode(0, as: Int64.self) != last.version else { return last }
        let new = try await load()
        cached.withLock { $0 = new }
        unusablePolicies?.report(new.unusable.values)
        return new
    }

    /// Version, apps, keys and topics of one moment. What has not changed since the last snapshot is not read.
    private func load() async throws -> DirectorySnapshot {
        try await postgres.withTransaction(.snapshot) { transaction in
            let last = lastRead
            let moment = try await transaction.execute([
                DirectoryStatements.version(), DirectoryStatements.databaseEpoch(),
                DirectoryStatements.changes(last.version),
            ])
            let (version, epoch): (Int64, String) = (try moment[0][0].decode(0), try moment[1][0].decode(0))
            let isComplete = epoch == last.databaseEpoch && Int64(moment[2].count) == version - last.version
            let changes =
                isComplete ? moment[2] : try await transaction.execute(DirectoryStatements.allApps())
            var (changed, owners): (Set<Int32>, Set<Int32>) = ([], [])
            for change in changes {
                let app: Int32 = try change.decode(0)
                if try change.decode(1) { owners.insert(app) } else { changed.insert(app) }
            }
            let results = try await transaction.execute([
                DirectoryStatements.apps(Array(changed)), SigningKeyStatements.signingKeys(Array(changed)),
                TopicCatalogueStatements.ofApps(Array(changed)), DirectoryStatements.keys(Array(owners)),
            ])
            let signingKeys = try SigningKeyStatements.byApp(results[1])
            let topics = try TopicCatalogue.byApp(results[2])
            var found = DirectorySnapshot.Apps()
            for row in results[0] { try Self.read(row, signingKeys, topics, last, into: &found) }
            let base = isComplete ? last : DirectorySnapshot(version: 0, apps: [], keys: [])
            return base.replacing(
                Set(changed.map { AppNumber($0) }), by: found, keysOf: Set(owners.map { AppNumber($0) }),
                by: try results[3].map(APIKey.init), version: version, databaseEpoch: epoch)
        }
    }

    /// An app with an invalid policy does not stop other apps.
    ///
    /// - Parameter last: a policy with the revision that it has here is not parsed again. Policies are most of the work
    ///   after a change of any app.
    private static func read(
        _ row: PostgresRow, _ signingKeys: [AppNumber: [AppSigningKey]], _ topics: [AppNumber: TopicCatalogue],
        _ last: DirectorySnapshot, into found: inout DirectorySnapshot.Apps
    ) throws {
        let (number, id) = (AppNumber(try row.decode(0)), try AppID(row.decode(1)))
        if let since: Timestamp = try row.decode(5) {
            return found.deleting.append(DeletingApp(number: number, id: id, since: since))
        }
        let revision = try row.decode(3, as: String.self)
        let known = last.app(number).flatMap { $0.revision == revision ? $0.policy : nil }
        switch try known.map(Result.success) ?? PolicyDocument.policy(ofStored: row.decode(2)) {
        case .success(let policy):
            found.usable.append(
                App(
                    number: number, id: id, policy: policy, revision: revision,
                    signingKeys: signingKeys[number, default: []],
                    identityKey: AppIdentityKey(bytes: try row.decode(4)),
                    topics: topics[number] ?? TopicCatalogue()))
        case .failure(let error):
            found.unusable.append(UnusableApp(number: number, id: id, revision: revision, reason: error.reason))
        }
    }

    /// The times that an app may be created and deleted by others while it is changed.
    private static let attemptsMax = 8

    public func change(
        _ id: AppID, by decide: @Sendable (StoredPolicy?) async throws -> PolicyChange
    ) async throws -> (app: App, change: PolicyChange) {
        try await storingDecision {
            for _ in 1...Self.attemptsMax {
                if let done = try await replacement(of: id, by: decide) { return done }
                let change = try await decide(nil)
                if let app = try await creation(of: id, change) { return (app, change) }
            }
            throw StoreError.overloaded
        }
    }

    /// - Returns: nil if there is no such app.
    private func replacement(
        of id: AppID, by decide: @Sendable (StoredPolicy?) async throws -> PolicyChange
    ) async throws -> (app: App, change: PolicyChange)? {
        try await postgres.withTransaction { transaction in
            let lock = DirectoryStatements.lockPolicy(id.rawValue)
            guard let row = try await transaction.execute([lock], .alone)[0].first else { return nil }
            guard try !row.decode(3, as: Bool.self) else { throw AppIsBeingDeleted() }
            let number = AppNumber(try row.decode(0))
            var revision: String = try row.decode(2)
            let change = try await decide(
                StoredPolicy(revision: revision, policy: try PolicyDocument.policy(ofStored: row.decode(1))))
            if let entry = change.entry {
                let text = try PolicyDocument(change.policy).text()
                let results = try await transaction.commit(after: [
                    DirectoryStatements.replacePolicy(number.rawValue, text),
                    AuditStatements.add(entry, of: number),
                ])
                revision = try results[0][0].decode(0)
            }
            return (App(number: number, id: id, policy: change.policy, revision: revision), change)
        }
    }

    /// An app has its row of `rollup_state` before anybody can see the app: inserts read it (`AppRow`).
    ///
    /// The row is not in the transaction of the creation, which locks the directory: on Citus it is on another node.
    ///
    /// - Returns: nil if another caller has just created the app.
    private func creation(of id: AppID, _ change: PolicyChange) async throws -> App? {
        let text = try PolicyDocument(change.policy).text()
        let number = AppNumber(try await postgres.execute(DirectoryStatements.drawNumber())[0].decode(0))
        _ = try await postgres.execute(RollUpStatements.addState(number))
        let create = DirectoryStatements.createApp(id.rawValue, text, number.rawValue)
        return try await postgres.withTransaction { transaction in
            guard let row = try await transaction.execute([create], .alone)[0].first else { return nil }
            try await transaction.commit(after: change.entry.map { [AuditStatements.add($0, of: number)] } ?? [])
            return App(number: number, id: id, policy: change.policy, revision: try row.decode(0))
        }
    }

    public func delete(
        _ id: AppID, recording entry: AuditEntry
    ) async throws -> (app: DeletingApp, isNew: Bool)? {
        try await storing {
            try await postgres.withTransaction { transaction in
                let locked = try await transaction.execute([AppDeletionStatements.lock(id.rawValue)], .alone)[0]
                guard let row = locked.first else { return nil }
                let number: Int32 = try row.decode(0)
                let known: Timestamp? = try row.decode(1)
                let since =
                    if let known { known } else {
                        try await transaction.execute(
                            [AppDeletionStatements.begin(number)]
                                + AppDeletionStatements.keys.map { $0(number) }
                                + [AuditStatements.add(entry, of: nil)])[0][0]
                            .decode(0, as: Timestamp.self)
                    }
                return (DeletingApp(number: AppNumber(number), id: id, since: since), known == nil)
            }
        }
    }

    public func installationsLeft(of app: AppNumber) async throws -> Int64 {
        try await storing {
            try await postgres.read(AppDeletionStatements.left(app.rawValue))[0].decode(0)
        }
    }

    public func add(_ key: APIKey, recording entry: AuditEntry) async throws {
        try await storing(refusing: APIKey.TooMany.self) {
            try await postgres.withTransaction { transaction in
                let app = key.app.rawValue
                let results = try await transaction.execute(
                    [DirectoryStatements.lockApp(app), DirectoryStatements.countKeys(app)], .alone)
                guard try results[1][0].decode(0, as: Int64.self) < APIKey.countMax else { throw APIKey.TooMany() }
                _ = try await transaction.execute([
                    DirectoryStatements.forgetRevokedKeys(
                        app, Int64(APIKey.revokedMax), APIKey.revokedRetention.seconds),
                    DirectoryStatements.addKey(
                        key.id, app, key.name, key.roles.map(\.rawValue), key.secretSHA256, key.createdAt.postgres,
                        key.expiresAt?.postgres),
                    AuditStatements.add(entry, of: key.app),
                ])
            }
        }
    }

    public func revokeKey(_ id: String, of app: AppNumber, recording entry: AuditEntry) async throws -> Bool {
        try await storing {
            try await postgres.withTransaction { transaction in
                let results = try await transaction.execute(
                    [DirectoryStatements.lockApp(app.rawValue), DirectoryStatements.isRevoked(id, app.rawValue)],
                    .alone)
                guard let row = results[1].first else { return false }
                if try !row.decode(0) {
                    try await transaction.commit(after: [
                        DirectoryStatements.revokeKey(id, app.rawValue), AuditStatements.add(entry, of: app),
                    ])
                }
                return true
            }
        }
    }

    public func lastUses(ofKeysOf app: AppNumber) async throws -> [String: Timestamp] {
        try await storing {
            let rows = try await postgres.read(DirectoryStatements.lastUses(app.rawValue))
            return try rows.reduce(into: [:]) { uses, row in
                uses[try row.decode(0)] = try row.decode(1, as: Timestamp.self)
            }
        }
    }
}

/// Reports the stored policies that this version cannot use: each app and revision once, and their number in a gauge.
/// The directories of all loops share one.
public final class UnusablePolicies: Sendable {
    private struct Name: Hashable, Sendable {
        let app: AppNumber
        let revision: String
    }

    private let logged = Locked<Set<Name>>([])
    private let count = Gauge(label: "unusable_policies")
    private let log: @Sendable (UnusableApp) -> Void

    /// - Parameter log: is called once for each app and revision.
    public init(log: @escaping @Sendable (UnusableApp) -> Void) {
        self.log = log
    }

    func report(_ apps: some Collection<UnusableApp>) {
        count.record(apps.count)
        for app in apps {
            let name = Name(app: app.number, revision: app.revision)
            if logged.withLock({ $0.insert(name).inserted }) { log(app) }
        }
    }
}

extension APIKey {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            id: try row.decode(0), app: AppNumber(try row.decode(1)), name: try row.decode(2),
            // A role that a newer migration added gives nothing here.
            roles: Set(try row.decode(3, as: [String].self).compactMap(Role.init(rawValue:))),
            secretSHA256: try row.decode(4), createdAt: try row.decode(5),
            expiresAt: try row.decode(7), revokedAt: try row.decode(6))
    }
}
