import PostgresClient
import PushRegistry

/// Sessions of the console in PostgreSQL.
public struct PostgresConsoleSessionStore: ConsoleSessionStore {
    /// Sessions of one key; another sign-in ends the one that was not used for the longest time. So the table is
    /// bounded by the number of keys.
    static let sessionsMax: Int64 = 100

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    public func add(_ session: ConsoleSession, sha256: [UInt8]) async throws {
        var (keyID, proof) = (String?.none, [UInt8]?.none)
        switch session.credential {
        case .key(let id): keyID = id
        case .adminKey(let bytes): proof = bytes
        }
        _ = try await execute(
            PostgresStatement(
                ConsoleSessionStatements.add, sha256, keyID, proof, session.createdAt.postgres,
                session.lastUsedAt.postgres, Self.sessionsMax))
    }

    public func session(_ sha256: [UInt8]) async throws -> ConsoleSession? {
        do {
            let rows = try await postgres.read(PostgresStatement(ConsoleSessionStatements.read, sha256))
            return try rows.first.flatMap(ConsoleSession.init)
        } catch {
            throw StoreError(error)
        }
    }

    public func recordUse(of sha256: [UInt8], at time: Timestamp) async throws {
        _ = try await execute(PostgresStatement(ConsoleSessionStatements.recordUse, sha256, time.postgres))
    }

    public func remove(_ sha256: [UInt8]) async throws {
        _ = try await execute(PostgresStatement(ConsoleSessionStatements.remove, sha256))
    }

    private func execute(_ statement: PostgresStatement) async throws -> PostgresResult {
        do {
            return try await postgres.execute(statement)
        } catch {
            throw StoreError(error)
        }
    }
}

extension ConsoleSession {
    /// Nil for a row without a credential, which the table's constraint excludes.
    fileprivate init?(_ row: PostgresRow) throws {
        let keyID = try row.decode(0, as: String?.self).map(Credential.key)
        let proof = try row.decode(1, as: [UInt8]?.self).map(Credential.adminKey)
        guard let credential = keyID ?? proof else { return nil }
        self.init(credential, createdAt: Timestamp(try row.decode(2)), lastUsedAt: Timestamp(try row.decode(3)))
    }
}
