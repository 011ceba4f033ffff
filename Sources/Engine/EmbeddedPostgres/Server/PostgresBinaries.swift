import Foundation

/// The folder of an installed PostgreSQL's programs (`initdb`, `pg_ctl`, `postgres`, `psql`).
package struct PostgresBinaries: Equatable, Sendable {
    /// The oldest major version that supports the service's SQL.
    static let minimumMajorVersion = 15
    /// Debian and Ubuntu install each version's programs here, and only wrappers on the PATH.
    private static let versionsFolder = "/usr/lib/postgresql"

    package let folder: String
    package let majorVersion: Int

    /// The programs for a data folder: of the version that wrote it, or the newest for a new folder.
    ///
    /// - Throws: `binariesNotFound` if no supported version is installed, `versionNotInstalled` if only other versions
    ///   are.
    package static func find(forData data: String) async throws(EmbeddedPostgresError) -> PostgresBinaries {
        let installed = await installed()
        guard let newest = installed.first else {
            throw .binariesNotFound(minimum: minimumMajorVersion, searched: ["\(versionsFolder)/*/bin"] + pathFolders)
        }
        guard let version = dataVersion(data) else { return newest }
        guard let match = installed.first(where: { $0.majorVersion == version }) else {
            throw .versionNotInstalled(version: version, directory: data)
        }
        return match
    }

    /// The installed supported versions, newest first. The PATH is searched only if the distribution's folder has none.
    private static func installed() async -> [PostgresBinaries] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: versionsFolder)) ?? []
        var found = names.compactMap { name in
            Int(name).map { PostgresBinaries(folder: "\(versionsFolder)/\(name)/bin", majorVersion: $0) }
        }
        found = found.filter { $0.majorVersion >= minimumMajorVersion && hasPrograms($0.folder) }
        found.sort { $0.majorVersion > $1.majorVersion }
        if found.isEmpty, let folder = pathFolders.first(where: hasPrograms), let version = await version(in: folder),
            version >= minimumMajorVersion
        {
            found = [PostgresBinaries(folder: folder, majorVersion: version)]
        }
        return found
    }

    private static var pathFolders: [String] {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    }

    private static func hasPrograms(_ folder: String) -> Bool {
        ["initdb", "pg_ctl", "postgres", "psql"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)")
        }
    }

    /// The major version in `postgres (PostgreSQL) 16.2 (Debian …)`.
    private static func version(in folder: String) async -> Int? {
        let command = ServerCommand(programs: folder, user: nil)
        guard let output = try? await command.run("postgres", ["--version"]) else { return nil }
        return output.split(separator: " ").dropFirst(2).first.flatMap { Int($0.prefix { $0.isNumber }) }
    }

    /// The major version that wrote the data folder; nil if it does not exist.
    private static func dataVersion(_ data: String) -> Int? {
        guard let text = try? String(contentsOfFile: "\(data)/PG_VERSION", encoding: .utf8) else { return nil }
        return Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
