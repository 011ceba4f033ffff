import Basics
import Crypto
import PostgresClient
import RegistryTestSupport

/// The database's rows of one app, in the oracle's terms.
struct ModelTables: Sendable {
    private let phones: [String: Oracle.Phone]
    /// As `Oracle.snapshotUsers` and `Oracle.registrants`.
    private let snapshotUsers: [String: [String?]]
    private let registrants: [String: String]
    private let history: [String: [Oracle.Event]]
    private let sessions: [String: Oracle.Session]
    /// All sessions that have a row: those that have left a phone, were ended, or were kept.
    private let rememberedSessions: Set<String>
    private let refusedUsers: Set<String>
    private let logouts: Set<Oracle.InstallationLogout>
    /// The times of each phone's events.
    private let eventTimes: [String: [Int64]]
    let endTimes: EndTimes

    /// When users, sessions and users of single phones were logged out.
    struct EndTimes: Sendable {
        var users: [String: Int64] = [:]
        var sessions: [String: Int64] = [:]
        var logouts: [Oracle.InstallationLogout: Int64] = [:]
    }

    /// The rows that the oracle expects.
    init(of oracle: Oracle) {
        (phones, history, sessions) = (oracle.phones, oracle.history, oracle.sessions.compactMapValues(\.ending))
        (snapshotUsers, registrants) = (oracle.snapshotUsers, oracle.registrants)
        (refusedUsers, logouts, eventTimes) = (Set(oracle.refusedBefore.keys), Set(oracle.logouts.keys), [:])
        endTimes = EndTimes()
        rememberedSessions = Set(oracle.sessions.keys)
    }

    /// All times at which a phone was registered, as far as they are stored.
    var times: [String: Set<Int64>] {
        var times = eventTimes.mapValues { Set($0) }
        for (id, phone) in phones {
            times[id, default: []].formUnion([phone.createdAt, phone.registeredAt, phone.seenAt])
        }
        return times
    }

    /// The generation that the next event of a phone leads to.
    func nextGeneration(of phone: String, after oracle: Oracle) -> Int64? {
        let events = history[phone] ?? []
        let count = oracle.history[phone]?.count ?? 0
        return count < events.count ? events[count].after : nil
    }

    /// Whether the oracle's events are the first of the stored ones, but for users that are erased later. This cuts a
    /// search short.
    func continueHistory(of oracle: Oracle) -> Bool {
        oracle.history.allSatisfy { id, events in
            guard let last = events.last else { return true }
            guard let stored = history[id], events.count <= stored.count else { return false }
            let event = stored[events.count - 1]
            return event.kind == last.kind && event.before == last.before && event.after == last.after
                && event.state == last.state
        }
    }

    /// A readable list of the differences from the oracle.
    func differences(from oracle: Oracle) -> [String] {
        var differences = Self.differences("installation", phones, oracle.phones)
        differences += Self.differences("snapshots' users", snapshotUsers, oracle.snapshotUsers)
        differences += Self.differences("registrant", registrants, oracle.registrants.filter { phones[$0.key] != nil })
        differences += Self.differences("history", history, oracle.history)
        differences += Self.differences("session", sessions, oracle.sessions.compactMapValues(\.ending))
        let seen = Set(oracle.sessions.keys)
        let forgotten = seen.subtracting(rememberedSessions).subtracting(oracle.phones.values.compactMap(\.session))
        let unseen = rememberedSessions.subtracting(seen)
        if !forgotten.isEmpty || !unseen.isEmpty { differences.append("sessions: \(forgotten), \(unseen)") }
        if refusedUsers != Set(oracle.refusedBefore.keys) { differences.append("users: \(refusedUsers)") }
        let strangers = logouts.symmetricDifference(oracle.logouts.keys)
        return differences + strangers.map { "logout: \($0)" }
    }

    private static func differences<Value: Equatable>(
        _ what: String, _ found: [String: Value], _ expected: [String: Value]
    ) -> [String] {
        Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.map { key in
            func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "-" }
            return "\(what) \(key)\n  found: \(text(found[key]))\n  expected: \(text(expected[key]))"
        }
    }
}

extension Oracle.Session {
    /// Only whether it was ended or kept counts: the times are those of the service's clock. Nil if it was neither: it
    /// may have a row or none.
    fileprivate var ending: Oracle.Session? {
        guard endedAt != nil || keptBy != nil else { return nil }
        return Oracle.Session(endedAt: endedAt.map { _ in 0 }, keptBy: keptBy.map { _ in 0 })
    }
}

// MARK: - Reading

extension ModelTables {
    /// Maps digests back to the tokens and users of the test.
    struct Names: Sendable {
        private let texts: [String: String]

        init(_ texts: [String]) {
            self.texts = Dictionary(uniqueKeysWithValues: texts.map { (Self.digest($0), $0) })
        }

        func text(_ digest: String) -> String { texts[digest] ?? "a stranger: \(digest)" }

        /// - Parameter start: the first 64 bits of a digest.
        func text(ofStart start: String) -> String {
            texts.first { $0.key.hasPrefix(start) }?.value ?? "a stranger: \(start)"
        }

        private static func digest(_ text: String) -> String {
            String(hex: SHA256.hash(data: Array(text.utf8)))
        }
    }

    init(of app: RegistryApp, _ names: Names) async throws {
        let number = try await app.database.column("SELECT id FROM app WHERE identifier = \(app.id)", as: Int32.self)[0]
        // Sequential reads suffice: no call is in progress.
        phones = try await Self.phones(app.database, number)
        (snapshotUsers, registrants) = try await Self.users(app.database, number, names)
        (history, eventTimes) = try await Self.history(app.database, number, names)
        let ended = try await Self.sessions(app.database, number)
        sessions = ended.compactMapValues(\.ending)
        rememberedSessions = Set(ended.keys)
        var endTimes = EndTimes()
        endTimes.sessions = ended.compactMapValues(\.endedAt)
        let refused = try await app.database.rows(
            """
            SELECT encode(user_sha256, 'hex'), (extract(epoch FROM refused_before) * 1000000)::bigint
            FROM user_guard WHERE app_id = \(number) AND refused_before IS NOT NULL
            """)
        for row in refused { endTimes.users[names.text(try row.decode(0))] = try row.decode(1, as: Int64.self) }
        refusedUsers = Set(endTimes.users.keys)
        let rows = try await app.database.rows(
            """
            SELECT install_id, encode(user_sha256, 'hex'), nullif(session_id, ''),
                (extract(epoch FROM logged_out_at) * 1000000)::bigint
            FROM installation_logout WHERE app_id = \(number)
            """)
        for row in rows {
            let logout = Oracle.InstallationLogout(
                phone: try row.decode(0), user: names.text(try row.decode(1)), session: try row.decode(2))
            endTimes.logouts[logout] = try row.decode(3, as: Int64.self)
        }
        logouts = Set(endTimes.logouts.keys)
        self.endTimes = endTimes
    }

    private static func phones(_ database: TestDatabase, _ app: Int32) async throws -> [String: Oracle.Phone] {
        let rows = try await database.rows(
            """
            SELECT install_id, provider::text, token, user_id, session_id,
                (extract(epoch FROM session_expires_at) * 1000000)::bigint,
                (extract(epoch FROM credential_issued_at) * 1000000)::bigint, state::text, generation,
                registration_generation, probably_replaced_by, (extract(epoch FROM created_at) * 1000000)::bigint,
                (extract(epoch FROM registered_at) * 1000000)::bigint,
                (extract(epoch FROM last_seen_at) * 1000000)::bigint,
                setting_name(settings, 0, '{notDetermined,denied,authorized,provisional,ephemeral,unknown}'),
                keychain_id, vendor_id,
                1 + (
                    SELECT count(*) FROM settings_snapshot s WHERE s.app_id = i.app_id AND s.install_id = i.install_id),
                (SELECT array_agg(t.name || ' ' || t.provider) FROM typed_token t
                    WHERE t.app_id = i.app_id AND t.install_id = i.install_id AND t.name = t.token)
            FROM installation i WHERE app_id = \(app) AND install_id LIKE 'phone-%'
            """)
        return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.decode(0), try Oracle.Phone($0)) })
    }

    private static func users(
        _ database: TestDatabase, _ app: Int32, _ names: Names
    ) async throws -> (ofSnapshots: [String: [String?]], registrants: [String: String]) {
        let rows = try await database.rows(
            """
            SELECT install_id, lpad(to_hex(registrant), 16, '0'), (
                SELECT coalesce(string_agg(coalesce(lpad(to_hex(s.sender), 16, '0'), ''), ',' ORDER BY s.id) || ',', '')
                FROM settings_snapshot s WHERE s.app_id = i.app_id AND s.install_id = i.install_id)
                || coalesce(lpad(to_hex(snapshot_sender), 16, '0'), '')
            FROM installation i WHERE app_id = \(app) AND install_id LIKE 'phone-%'
            """)
        var (users, registrants) = ([String: [String?]](), [String: String]())
        for row in rows {
            let phone: String = try row.decode(0)
            registrants[phone] = try row.decode(1, as: String?.self).map(names.text(ofStart:))
            users[phone] = try row.decode(2, as: String.self).split(separator: ",", omittingEmptySubsequences: false)
                .map { $0.isEmpty ? nil : names.text(ofStart: String($0)) }
        }
        return (users, registrants)
    }

    private static func history(
        _ database: TestDatabase, _ app: Int32, _ names: Names
    ) async throws -> (events: [String: [Oracle.Event]], times: [String: [Int64]]) {
        let rows = try await database.rows(
            """
            SELECT install_id, event::text, reason, actor, provider::text, encode(token_sha256, 'hex'), user_id,
                previous_user_id, state::text, generation_before, generation_after,
                (extract(epoch FROM at) * 1000000)::bigint
            FROM token_event WHERE app_id = \(app) AND install_id LIKE 'phone-%' ORDER BY id
            """)
        let events = try rows.map { row in
            (
                phone: try row.decode(0, as: String.self), event: try Oracle.Event(row, names),
                at: try row.decode(11, as: Int64.self)
            )
        }
        let byPhone = Dictionary(grouping: events, by: \.phone)
        return (byPhone.mapValues { $0.map(\.event) }, byPhone.mapValues { $0.map(\.at) })
    }

    private static func sessions(_ database: TestDatabase, _ app: Int32) async throws -> [String: Oracle.Session] {
        let rows = try await database.rows(
            """
            SELECT s.session_id, (extract(epoch FROM coalesce(s.ended_at, CASE
                    WHEN s.left_number < u.refused_number AND coalesce(s.kept_number < u.refused_number, true)
                    THEN u.refused_before END)) * 1000000)::bigint,
                s.kept_number IS NOT NULL
            FROM session s LEFT JOIN user_guard u USING (app_id, user_sha256) WHERE s.app_id = \(app)
            """)
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                let endedAt: Int64? = try row.decode(1)
                let keptBy: Int? = try row.decode(2) ? 0 : nil
                return (try row.decode(0, as: String.self), Oracle.Session(endedAt: endedAt, keptBy: keptBy))
            }
        )
    }
}

extension Oracle.Phone {
    fileprivate init(_ row: PostgresRow) throws {
        let snapshot = ModelSnapshot(
            authorization: try row.decode(14), keychain: try row.decode(15), vendor: try row.decode(16))
        self.init(
            provider: try row.decode(1), token: try row.decode(2), user: try row.decode(3), session: try row.decode(4),
            expiresAt: try row.decode(5), issuedAt: try row.decode(6), state: try row.decode(7),
            generation: try row.decode(8), registrationGeneration: try row.decode(9), replacedBy: try row.decode(10),
            createdAt: try row.decode(11), registeredAt: try row.decode(12), seenAt: try row.decode(13),
            snapshot: snapshot, snapshots: Int(try row.decode(17, as: Int64.self)))
        for text in try row.decode(18, as: [String]?.self) ?? [] {
            let parts = text.split(separator: " ").map(String.init)
            typed[parts[0]] = parts[1]
        }
    }
}

extension Oracle.Event {
    fileprivate init(_ row: PostgresRow, _ names: ModelTables.Names) throws {
        self.init(
            kind: try row.decode(1), reason: try row.decode(2), actor: try row.decode(3), provider: try row.decode(4),
            token: try row.decode(5, as: String?.self).map { names.text($0) }, user: try row.decode(6),
            previousUser: try row.decode(7), state: try row.decode(8), before: try row.decode(9),
            after: try row.decode(10))
    }
}
