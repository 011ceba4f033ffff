import Crypto
import PostgresClient
import PushRegistry
import RegistryStore

/// Identifies tokens by their addresses that an earlier version of the registry identified by their whole text (R1).
/// `push-registry migrate` does it, and the night job, for rows that processes of such a version have written since.
///
/// It reads the table in its physical order, without locks, and writes in batches under the locks of tokens and
/// installations. An interrupted run has committed its finished batches, and the next one finds the rest.
public struct Readdressing {
    public struct Counts: Hashable, Sendable {
        /// Tokens that were found identified by their whole text.
        public var found = 0
        /// Tokens that are identified by their addresses since.
        public var tokens = 0
        /// Installations whose address another one holds that has registered since. They lost it.
        public var superseded = 0

        static func += (left: inout Counts, right: Counts) {
            left.found += right.found
            left.tokens += right.tokens
            left.superseded += right.superseded
        }
    }

    let session: PostgresSession
    let nodes: CleanUpNodes
    /// Of the events.
    var actor = CleanUpStatements.actor
    /// Pages that one statement reads.
    var pagesPerRead: Int64 = 4_096

    /// A batch also rewrites the events of its tokens, so it is smaller than others of the night job.
    private static let batchDivisor = 5
    private static let attemptsMax = 5

    /// - Parameter progress: called with the number of read parts of the table, and of all parts.
    /// - Throws: `PostgresError`; `cancelled` between two batches if the task is cancelled.
    public static func run(
        _ configuration: PostgresConfiguration, progress: @escaping @Sendable (Int, Int) -> Void
    ) async throws -> Counts {
        try await PostgresSession.withSession(configuration) { session in
            guard try !isOver(session) else { return Counts() }
            let job = Readdressing(session: session, nodes: try .beginning(session), actor: "job:migrate")
            return try job.run(progress)
        }
    }

    /// Whether a whole run of the night job has found nothing.
    static func isOver(_ session: PostgresSession) throws -> Bool {
        try session.execute(ReaddressingStatements.isOver)[0].decode(0)
    }

    func run(_ progress: (Int, Int) -> Void) throws -> Counts {
        var (counts, pace) = (Counts(), try CleanUpPace(session))
        try session.run(script: CleanUpStatements.writeSettings)
        defer { try? session.run(script: CleanUpStatements.readSettings) }
        let ranges = try PageRange.all(of: "installation", by: pagesPerRead, session, nodes)
        for (number, range) in ranges.enumerated() {
            progress(number, ranges.count)
            try nodes.with(range.apps) {
                let found = try pace.run { try read(range) }
                counts.found += found.count
                for (app, tokens) in Dictionary(grouping: found, by: \.app) {
                    var rest = tokens[...]
                    while !rest.isEmpty {
                        let batch = Array(rest.prefix(max(1, pace.batch / Self.batchDivisor)))
                        rest = rest.dropFirst(batch.count)
                        counts += try pace.run { try write(batch, of: app) }
                    }
                }
            }
        }
        return counts
    }

    /// A token that was identified by its whole text when it was read.
    private struct Found {
        let app: AppNumber
        let installID: InstallID
        let old: [UInt8]
        let new: [UInt8]
    }

    private func read(_ range: PageRange) throws -> [Found] {
        try session.execute(ReaddressingStatements.read(range).unprepared()).compactMap { row in
            let token = try Token(row.decode(2), of: .fcm)
            guard token.spelling != nil else { return nil }
            return Found(
                app: AppNumber(try row.decode(0)), installID: try InstallID(row.decode(1)),
                old: Self.sha256(Array(token.text.utf8)), new: token.addressSHA256(by: Self.sha256))
        }
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// Writes a batch. If another transaction keeps one of its rows locked, the others are written without it, and the
    /// next run finds it again.
    private func write(_ batch: [Found], of app: AppNumber) throws -> Counts {
        do {
            return try session.withTransaction(attemptsMax: Self.attemptsMax, orIf: \.isLockTimeout) {
                if nodes.isDistributed { try session.run(script: CleanUpStatements.batchSettingsOnCitus) }
                return try writeOnce(batch, of: app)
            }
        } catch let error where error.isLostRace || error.isLockTimeout {
            try session.checkCancellation()
            guard batch.count > 1 else { return Counts() }
            var counts = try write(Array(batch.prefix(batch.count / 2)), of: app)
            counts += try write(Array(batch.dropFirst(batch.count / 2)), of: app)
            return counts
        }
    }

    private func writeOnce(_ batch: [Found], of app: AppNumber) throws -> Counts {
        let present = try lock(batch, of: app)
        let moment = try Moment(session.execute(RegistrationStatements.now()))
        let topics = try topics(of: present.map(\.installation), in: app)
        var locked = LockedInstallations(
            present.map(\.installation), userChoices: topics.choices, now: moment.time, number: moment.number)
        for found in batch {
            locked.readdress(
                InstallationKey(app: app, installID: found.installID), by: actor, in: topics.catalogue,
                sha256: Self.sha256)
        }
        let stored = Dictionary(uniqueKeysWithValues: present.map { ($0.installation.key, $0) })
        var changes = ChangeSet(in: app, at: moment.time)
        for (_, after) in locked.changed {
            if let before = stored[after.key] { changes.change(before, to: after) }
        }
        changes.record(locked.events, locked.topicsEvents)
        try changes.check(changes.rows.map { try session.execute($0) })
        // History names the tokens by their addresses, too. The new events come last.
        _ = try session.execute(ReaddressingStatements.events(app.rawValue, batch.map(\.old), batch.map(\.new)))
        for statement in changes.others(at: moment) { _ = try session.execute(statement) }
        return Counts(tokens: locked.changed.count { $0.after.address != nil }, superseded: locked.events.count)
    }

    /// Locks the tokens, by their whole text and by their addresses, then their installations and those that hold the
    /// addresses.
    private func lock(_ batch: [Found], of app: AppNumber) throws -> [StoredInstallation] {
        let new = batch.map { TokenAddress(app: app, provider: .fcm, sha256: $0.new) }
        let old = batch.map { TokenAddress(app: app, provider: .fcm, sha256: $0.old) }
        _ = try session.execute(HolderStatements.add(Set(new), in: app))
        _ = try session.execute(HolderStatements.lock(new + old, of: batch.map(\.installID), in: app))
        let rows = try session.execute(
            RegistrationStatements.lock(
                app.rawValue, batch.map(\.installID.rawValue),
                new.map(\.provider.rawValue), new.map(\.sha256), [String]()))
        return try rows.map { try InstallationColumns.decode($0) }
    }

    /// What ends with a token: choices about topics. Nearly no installation has any.
    private func topics(
        of installations: [Installation], in app: AppNumber
    ) throws -> (catalogue: TopicCatalogue, choices: [UserID: TopicChoices]) {
        let choosing = installations.filter { !$0.topicChoices.isEmpty }
        guard !choosing.isEmpty else { return (TopicCatalogue(), [:]) }
        let rows = try session.execute(TopicCatalogueStatements.ofApp(app.rawValue))
        let users = Dictionary(
            choosing.compactMap(\.owner?.userID).map { (UserDigest.sha256($0), $0) }, uniquingKeysWith: { $1 })
        let known = try session.execute(GuardStatements.users(app.rawValue, Array(users.keys)))
        let choices = try known.map(RememberedUser.init).compactMap { user in
            users[user.sha256].map { ($0, user.choices) }
        }
        return (
            try TopicCatalogue.byApp(rows)[app] ?? TopicCatalogue(), Dictionary(uniqueKeysWithValues: choices)
        )
    }
}

/// The SQL of `Readdressing`.
private enum ReaddressingStatements {
    /// Clean-up, migrate (R1): reads whether a whole run has found nothing.
    static let isOver: PostgresStatement = "SELECT EXISTS (SELECT FROM cleanup_run WHERE readdressed = 0)"

    /// Returns tokens that are identified by their whole text, and may have an address.
    static func read(_ range: PageRange) -> PostgresStatement {
        """
        SELECT i.app_id, i.install_id, i.token FROM installation i
        WHERE \(sql: range.contains("i")) AND i.provider = 'fcm' AND substr(i.token, 23, 1) = ':'
            AND i.token_sha256 = sha256(convert_to(i.token, 'UTF8'))
        """
    }

    /// Clean-up, migrate (R12): lets events name tokens by their addresses.
    /// `$1` is the app, `$2` are the digests of the whole texts, `$3` those of the addresses.
    static let events = PreparedSQL(
        """
        WITH found AS MATERIALIZED (
            SELECT e.install_id, e.id, e.at, k.new
            FROM unnest($2::bytea[], $3::bytea[]) AS k (old, new)
            CROSS JOIN LATERAL (
                SELECT install_id, id, at FROM token_event
                WHERE app_id = $1 AND provider = 'fcm' AND token_sha256 = k.old OFFSET 0) AS e
        )
        UPDATE token_event e SET token_sha256 = f.new FROM found f
        WHERE e.app_id = $1 AND e.install_id = f.install_id AND e.id = f.id AND e.at = f.at
        """)
}
