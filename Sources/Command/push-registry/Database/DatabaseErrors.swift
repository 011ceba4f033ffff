import ArgumentParser
import PostgresClient

/// There is no database for a command that does not create one.
struct NoDatabase: Error, CustomStringConvertible {
    let directory: String

    var description: String {
        """
        There is no database: PUSH_REGISTRY_DATABASE_URL (--database-url) is not set, and \(directory) contains no \
        embedded PostgreSQL. Set the URL, or set PUSH_REGISTRY_DATA_DIR (--data-dir) to the data folder of a service. \
        `push-registry serve` creates an embedded PostgreSQL.
        """
    }
}

/// The process that runs the embedded server stopped it while a command used it: `serve` does not wait for commands.
struct StoppedDatabase: Error, CustomStringConvertible {
    var description: String {
        """
        The embedded PostgreSQL was stopped during this command, by the process that had started it (usually \
        `push-registry serve`). What the command has committed is kept. Run it again: it then starts PostgreSQL \
        itself, or uses that of a running service.
        """
    }
}

/// The database lacks migrations of this binary, and the command does not migrate.
struct OutdatedSchema: Error, CustomStringConvertible {
    /// The newest migration of the database; nil if it has none.
    let version: Int?
    /// The newest migration of this binary.
    let needed: Int

    var description: String {
        let present = version.map { "The schema of the database has version \($0)" } ?? "The database has no schema"
        return "\(present), and this binary needs version \(needed). Run `push-registry migrate`. Nothing was changed."
    }
}

/// A pooler lends the server's sessions for one transaction each.
struct SharedSessions: Error, CustomStringConvertible {
    var description: String {
        """
        The connections of PUSH_REGISTRY_DATABASE_URL lose their sessions: a pooler lends each session of PostgreSQL \
        for one transaction. Settings and prepared statements need sessions of their own. Let the pooler keep them \
        (PgBouncer: pool_mode = session), or connect to PostgreSQL directly. Nothing was changed.
        """
    }
}

/// The first statement of a command failed.
struct UnreachableDatabase: Error, CustomStringConvertible {
    let error: PostgresError

    var description: String {
        """
        The database cannot be reached. \(error.debugDescription)
        Check that PostgreSQL is running and that PUSH_REGISTRY_DATABASE_URL is correct.
        """
    }
}

/// The role of the connection string may serve, but not change the schema.
struct OwnersRightMissing: Error, CustomStringConvertible {
    /// The role that owns the schema; nil if it is unknown, or if there is no schema yet.
    let owner: String?
    let error: PostgresError

    var description: String {
        let name = owner.map { " (\($0))" } ?? ""
        return """
            The database refuses this to the role of PUSH_REGISTRY_DATABASE_URL. \(error.debugDescription)
            Run this command with a URL of the role that owns the schema\(name): `migrate` and `cleanup` create and \
            drop tables. The service can keep its own role.
            """
    }
}
