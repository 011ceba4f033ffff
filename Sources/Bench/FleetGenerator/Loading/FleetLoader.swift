import Crypto
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore

/// Fills a database with a fleet by COPY, in transactions of some thousand installations: memory use is constant, and
/// after a failure the committed installations remain.
public struct FleetLoader: Sendable {
    /// Enough to make a transaction's fixed cost negligible, at about 3 KB of memory each.
    public static let installationsPerTransaction = 5_000

    /// Whether each installation gets its `registered` event, as from the service.
    public var writesHistory = true
    /// Called on the loading thread after every transaction, with the number of installations loaded so far.
    public var progress: @Sendable (Int) -> Void = { _ in }

    public init() {}

    /// Loads the installations `numbers` of the fleet; none of them may exist. Then folds the roll-up and updates the
    /// planner's statistics.
    ///
    /// Commits are asynchronous except the last, which makes all of them durable.
    ///
    /// - Throws: Foundation's error if tzdata cannot be read; `PostgresError`; `cancelled` between two transactions if
    ///   the task is cancelled.
    public func load(_ fleet: Fleet, _ numbers: Range<Int>? = nil, into database: PostgresConfiguration) async throws {
        let numbers = numbers ?? fleet.indices
        let rules = SentRegistration.ReadingRules(
            storesAdvertisingID: fleet.app.policy.storesAdvertisingID, links: try TimeZoneLinks())
        try await PostgresSession.withSession(database) { session in
            var loaded = LoadedInstallations(of: fleet.app.number)
            try session.run(script: "SET synchronous_commit = off")
            for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.installationsPerTransaction)
            {
                let end = min(start + Self.installationsPerTransaction, numbers.upperBound)
                try session.checkCancellation()
                try copy((start..<end).map { FleetRow(fleet[$0], app: fleet.app, reading: rules) }, &loaded, session)
                progress(end - numbers.lowerBound)
            }
            try RollUpFold.runAll(in: session)
            try session.run(script: "SET synchronous_commit = on; ANALYZE")
        }
    }

    private func copy(
        _ rows: [FleetRow], _ loaded: inout LoadedInstallations, _ session: PostgresSession
    ) throws {
        // Creates the roll-up's cells before the transaction that uses them.
        let cells = try loaded.numbers(of: rows.map(\.registration), in: session)
        let complete = loaded
        try session.withTransaction {
            _ = try session.copyIn(Self.installations) { writer in
                for (row, cell) in zip(rows, cells) {
                    try writer.write {
                        LoadedInstallations.bind(
                            row.installation, row.registration, digest: row.digest, cell: cell, to: &$0)
                    }
                }
            }
            try complete.completeRows(
                of: rows.map(\.installation.key.installID.rawValue), actor: writesHistory ? FleetRow.actor : nil,
                in: session)
        }
    }

    private static let installations = PostgresStatement(
        "COPY installation (\(sql: LoadedInstallations.columns)) FROM STDIN (FORMAT binary)")
}

extension App {
    /// Finds the app of this name, or creates it with the standard policy.
    ///
    /// Of its policy only the member that affects a row is read: whether advertising ids are stored.
    public static func find(_ id: AppID, in database: PostgresConfiguration) async throws -> App {
        try await PostgresSession.withSession(database) { session in
            let row = try session.execute(
                """
                WITH found AS (
                    INSERT INTO app (identifier, policy) VALUES (\(id.rawValue), '{}')
                    ON CONFLICT (identifier) DO UPDATE SET identifier = excluded.identifier
                    RETURNING id, coalesce((policy ->> 'storeAdvertisingId')::boolean, false) AS has_advertising_id
                ), state AS (INSERT INTO rollup_state (app_id) SELECT id FROM found ON CONFLICT DO NOTHING)
                SELECT id, has_advertising_id FROM found
                """)[0]
            var draft = AppPolicy.Draft()
            draft.storesAdvertisingID = try row.decode(1)
            return App(number: AppNumber(try row.decode(0)), id: id, policy: try AppPolicy(draft))
        }
    }
}

/// An installation in the state after it registered and was seen again. The service's own rules compute the state, so
/// that the same body over HTTP changes nothing.
struct FleetRow {
    static let actor = "job:fleet"

    let registration: Registration
    let installation: Installation
    /// Of the body that the client sends.
    let digest: [UInt8]

    /// The installation's registration, as the service receives it.
    static func registration(_ installation: FleetInstallation, app: App) -> Registration {
        Registration(
            installation.request, of: app, by: RegistrationClaim(of: app, owner: installation.owner), actor: actor,
            sha256: sha256)
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    init(_ fleet: FleetInstallation, app: App, reading rules: SentRegistration.ReadingRules) {
        let registration = Self.registration(fleet, app: app)
        var locked = LockedInstallations([], now: fleet.times.createdAt, number: 1)
        _ = mustSucceed { () throws(RegistrationRefusal) in try locked.register(registration) }
        guard var installation = locked[registration.key] else {
            preconditionFailure("the registered installation is missing")
        }
        installation.lastSeenAt = fleet.times.lastSeenAt
        (self.registration, self.installation) = (registration, installation)
        digest = SentRegistration.digest(of: fleet.body(), by: fleet.owner, reading: rules, sha256: Self.sha256)
    }
}
