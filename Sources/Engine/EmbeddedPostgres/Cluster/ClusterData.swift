import Foundation
import Glibc

/// The source of a new cluster's data.
package enum ClusterOrigin: Sendable {
    /// `initdb`.
    case initialization
    /// A copy of the data folder of a stopped cluster.
    case copy(of: String)
    /// A base backup of a running server, which the new server then follows as a standby.
    ///
    /// - Parameters:
    ///   - server: libpq keywords for a role with the right to replicate.
    ///   - name: the standby's name on the server (`application_name`).
    case standby(of: String, name: String)
}

/// Creates a cluster's data, and in it the service's role and database.
package struct ClusterData: Sendable {
    static let superuser = "postgres"
    /// The service's role and the database that it owns.
    package static let serviceName = "push_registry"

    let folder: ClusterFolder
    let command: ServerCommand

    /// Creates the data folder if it is missing. It is created under another name first, so that an interrupted
    /// creation is never mistaken for a cluster.
    func createIfMissing(from origin: ClusterOrigin) async throws(EmbeddedPostgresError) {
        guard FileStatus(folder.data) == nil else { return }
        let unfinished = "\(folder.data).new"
        try? FileManager.default.removeItem(atPath: unfinished)
        switch origin {
        case .initialization: try await initialize(unfinished)
        case .copy(let source): try await command.run("cp", ["-a", "--reflink=auto", source, unfinished])
        case .standby(let server, let name): try await backUp(server, as: name, to: unfinished)
        }
        guard rename(unfinished, folder.data) == 0 else { throw .unusable(folder.data) }
    }

    /// The locale sorts by code point, so that an update of the C library cannot change the order of an index. TCP, for
    /// which a setting must open a port first, requires a password, and no role has one.
    private func initialize(_ data: String) async throws(EmbeddedPostgresError) {
        try await command.run(
            "initdb",
            [
                "--pgdata", data, "--username", Self.superuser, "--encoding=UTF8", "--locale=C.UTF-8",
                "--data-checksums", "--auth-local=trust", "--auth-host=scram-sha-256",
            ])
    }

    private func backUp(_ server: String, as name: String, to data: String) async throws(EmbeddedPostgresError) {
        try await command.run(
            "pg_basebackup",
            [
                "--pgdata", data, "--dbname", "\(server) application_name=\(name)", "--checkpoint=fast",
                "--wal-method=stream", "--write-recovery-conf",
            ])
    }

    /// Creates the role and the database if they are missing: an earlier start may have been interrupted.
    func createDatabaseIfMissing(address: ServerAddress) async throws(EmbeddedPostgresError) {
        try await command.execute(
            """
            SELECT 'CREATE ROLE \(Self.serviceName) LOGIN'
             WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(Self.serviceName)') \\gexec
            SELECT 'CREATE DATABASE \(Self.serviceName) OWNER \(Self.serviceName)'
             WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '\(Self.serviceName)') \\gexec

            """, at: address.connectionString(user: Self.superuser, database: "postgres"))
    }
}
