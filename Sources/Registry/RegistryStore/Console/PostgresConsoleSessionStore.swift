import Basics
import EventLoop
import PostgresClient
import PushRegistry

/// Sessions of the console in PostgreSQL.
public struct PostgresConsoleSessionStore: ConsoleSessionStore {
    /// Sessions of one key or person; another sign-in ends the one that was not used for the longest time. So the table
    /// is bounded by the number of keys and people.
    static let sessionsMax: Int64 = 100

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    @discardableResult
    public func add(_ session: ConsoleSession, sha256: [UInt8]) async throws -> Bool {
        var (keyID, proof, person, signIn) = (String?.none, [UInt8]?.none, ConsolePerson?.none, [UInt8]?.none)
        switch session.credential {
        case .key(let id): keyID = id
        case .adminKey(let bytes): proof = bytes
        case .person(let named, let digest): (person, signIn) = (named, digest)
        }
        let added = try await execute(
            ConsoleSessionStatements.add(
                sha256, session.createdAt.postgres, session.lastUsedAt.postgres, keyID,
                proof, person?.issuer, person?.subject, person?.name, person?.groups.map(\.text), signIn,
                Self.sessionsMax))
        return !added.isEmpty
    }

    public func session(_ sha256: [UInt8]) async throws -> ConsoleSession? {
        try await storing {
            let rows = try await postgres.read(ConsoleSessionStatements.read(sha256))
            return try rows.first.flatMap(ConsoleSession.init)
        }
    }

    public func recordUse(of sha256: [UInt8], at time: Timestamp) async throws {
        _ = try await execute(ConsoleSessionStatements.recordUse(sha256, time.postgres))
    }

    public func remove(_ sha256: [UInt8]) async throws {
        _ = try await execute(ConsoleSessionStatements.remove(sha256))
    }

    private func execute(_ statement: PostgresStatement) async throws -> PostgresResult {
        try await storing { try await postgres.execute(statement) }
    }
}

extension ConsoleSession {
    /// Nil for a row without a credential, which the table's constraint excludes.
    fileprivate init?(_ row: PostgresRow) throws {
        let keyID = try row.decode(2, as: String?.self).map(Credential.key)
        let proof = try row.decode(3, as: [UInt8]?.self).map(Credential.adminKey)
        let person = try row.decode(4, as: String?.self).map { issuer in
            Credential.person(
                ConsolePerson(
                    issuer: issuer, subject: try row.decode(5), name: try row.decode(6),
                    groups: try row.decode(7, as: [String].self).map { ExactText($0) }),
                signIn: try row.decode(8))
        }
        guard let credential = keyID ?? proof ?? person else { return nil }
        self.init(credential, createdAt: try row.decode(0), lastUsedAt: try row.decode(1))
    }
}

/// Removes sessions of the console that have ended days ago. Every service does, at its start and every few minutes.
public struct ConsoleSessionSweep: Sendable {
    private static let interval = Duration.seconds(10 * 60)

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Sweeps until it is cancelled. A failure is retried in the next round.
    public func run() async {
        while !Task.isCancelled {
            try? await sweep(at: .now())
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }

    /// - Throws: `PostgresError`.
    func sweep(at now: Timestamp) async throws {
        _ = try await postgres.execute(
            ConsoleSessionStatements.sweep(now.preceding(by: ConsoleSession.keptFor).postgres))
    }
}

/// The SQL of `/console/v1/session` and `/console/v1/signed-in`, and of the look-up of the session of every call under
/// `/console/v1`.
enum ConsoleSessionStatements {
    /// Every call under /console/v1: reads the session.
    static let read = PreparedSQL(
        """
        SELECT created_at, last_used_at, key_id, admin_proof, issuer, subject, name, groups, sign_in
        FROM console_session WHERE sha256 = $1
        """)

    /// A call under /console/v1, once a minute: records that the session is in use.
    static let recordUse = PreparedSQL(
        "UPDATE console_session SET last_used_at = $2 WHERE sha256 = $1 AND last_used_at < $2")

    /// Sign-ins of one key or person at the same moment may leave a few sessions more. A sign-in at a provider adds one
    /// session.
    static let add = PreparedSQL(
        """
        WITH crowded AS (
            DELETE FROM console_session WHERE sha256 IN (
                SELECT sha256 FROM console_session
                WHERE key_id IS NOT DISTINCT FROM $4 AND (issuer, subject) IS NOT DISTINCT FROM ($6, $7)
                ORDER BY last_used_at DESC OFFSET $11 - 1)
        )
        INSERT INTO console_session
            (sha256, created_at, last_used_at, key_id, admin_proof, issuer, subject, name, groups, sign_in)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (sign_in) DO NOTHING RETURNING true
        """)

    /// DELETE /console/v1/session: removes the session.
    static let remove = PreparedSQL(
        "DELETE FROM console_session WHERE sha256 = $1")

    /// A service's background task: removes sessions of the console that ended days ago.
    static let sweep = PreparedSQL(
        "DELETE FROM console_session WHERE last_used_at < $1")
}
