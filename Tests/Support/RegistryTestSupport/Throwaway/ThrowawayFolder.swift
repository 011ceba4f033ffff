import EmbeddedPostgres
import Foundation
import Glibc
import Logging

/// The folders of one user's throw-away clusters: `/tmp/push-registry-throwaway-<user id>/` contains the template,
/// which all are copied from, and a folder for each cluster.
///
/// `PUSH_REGISTRY_TEST_CLUSTERS` replaces `/tmp`, for tests by a file system in memory.
struct ThrowawayFolder {
    /// Not `TMPDIR`: the server's user may be unable to enter it, and it makes socket paths long.
    private static let root: String = {
        let parent = ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_CLUSTERS"] ?? "/tmp"
        return "\(parent)/push-registry-throwaway-\(geteuid())"
    }()
    /// Long enough to create a template on a busy machine.
    private static let lockDeadline = Duration.seconds(120)

    /// The new cluster's folder, empty.
    let path: String
    let lock: OwnerLock
    /// The data folder to copy.
    let template: String

    /// Creates a folder, and the template if it is missing, and removes the folders of dead processes.
    static func reserve(logger: Logger) async throws(EmbeddedPostgresError) -> ThrowawayFolder {
        try makeRoot()
        // Held until the end: a folder that another process is creating has no owner lock yet.
        let rootLock = try await lockRoot()
        defer { withExtendedLifetime(rootLock) {} }
        await removeAbandoned()
        let template = try await makeTemplate(logger: logger)
        let path = "\(root)/\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
        guard mkdir(path, 0o711) == 0 else { throw .unusable(path) }
        return ThrowawayFolder(path: path, lock: try OwnerLock(directory: path), template: template)
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Another user may have created something of that name first.
    private static func makeRoot() throws(EmbeddedPostgresError) {
        guard mkdir(root, 0o711) == 0 || errno == EEXIST else { throw .unusable(root) }
        guard let status = FileStatus(root), status.isDirectory, status.owner == geteuid() else {
            throw .directoryUnusable(path: root, reason: "another user created it")
        }
        chmod(root, 0o711)
    }

    private static func lockRoot() async throws(EmbeddedPostgresError) -> OwnerLock {
        let end = ContinuousClock.now + lockDeadline
        while true {
            do { return try OwnerLock(directory: root) } catch {
                guard case .inUse = error, ContinuousClock.now < end else { throw error }
            }
            // A cancelled task must not loop without sleeping.
            do { try await Task.sleep(for: .milliseconds(5)) } catch { throw .inUse(directory: root, processID: nil) }
        }
    }

    /// Kills the servers and removes the folders of dead owners.
    private static func removeAbandoned() async {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        for path in names.map({ "\(root)/\($0)" }) where FileStatus(path)?.isDirectory == true && !isTemplate(path) {
            guard (try? OwnerLock(directory: path)) != nil else { continue }
            if let folder = try? await ClusterFolder.prepare(in: path) {
                let binaries = try? await PostgresBinaries.find(forData: folder.data)
                let command = ServerCommand(programs: binaries?.folder ?? "", user: folder.user)
                await Postmaster(folder: folder, command: command).kill()
            }
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    private static func isTemplate(_ path: String) -> Bool {
        path.hasPrefix("\(root)/template-") && !path.hasSuffix(".new")
    }

    /// The template's data folder: a cluster that was started and stopped in the usual way, once per user and version.
    private static func makeTemplate(logger: Logger) async throws(EmbeddedPostgresError) -> String {
        let version = try await PostgresBinaries.find(forData: "").majorVersion
        let finished = "\(root)/template-\(version)"
        if FileStatus(finished) == nil {
            let unfinished = try ClusterFolder.makeDirectory("\(finished).new")
            let server = try await EmbeddedPostgres.start(directory: unfinished, logger: logger)
            try await server.stop()
            try allowLoopback("\(unfinished)/postgres/data/pg_hba.conf")
            guard rename(unfinished, finished) == 0 else { throw .unusable(finished) }
        }
        return "\(finished)/postgres/data"
    }

    /// Allows the service's role to connect over TCP without a password, before the rule that requires one.
    private static func allowLoopback(_ path: String) throws(EmbeddedPostgresError) {
        let rule = "host all \(ClusterData.serviceName) 127.0.0.1/32 trust\n"
        guard let rules = FileManager.default.contents(atPath: path),
            let file = FileHandle(forWritingAtPath: path)
        else { throw .unusable(path) }
        // Written in place: a new file would belong to root.
        do { try file.write(contentsOf: Data(rule.utf8) + rules) } catch { throw .unusable(path) }
    }
}
