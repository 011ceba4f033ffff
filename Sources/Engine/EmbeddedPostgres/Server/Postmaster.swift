import Foundation
import Glibc

/// The server process of one folder: finds, starts and stops it.
///
/// It uses `pg_ctl`. The server is therefore not a child of this process, and a server that an earlier owner left
/// running is handled in the same way.
package struct Postmaster: Sendable {
    /// Recovery after a crash replays at most `max_wal_size` of WAL, 1 GB, in much less time.
    private static let startDeadlineSeconds = 120
    /// For ending the sessions and writing the shared buffers.
    private static let stopDeadlineSeconds = 60
    /// How long the server's children may run after it was killed.
    private static let orphanDeadline = Duration.seconds(5)
    /// On Linux all process ids are below this (`PID_MAX_LIMIT`, proc(5)).
    private static let impossibleProcessID = 4_194_304

    let folder: ClusterFolder
    let command: ServerCommand

    package init(folder: ClusterFolder, command: ServerCommand) {
        (self.folder, self.command) = (folder, command)
    }

    private var processIDFile: String { "\(folder.data)/postmaster.pid" }

    /// The id of the process that serves the folder now. The process is recognized by its arguments: its id alone may
    /// have been reused, or belong to a dead process that its parent has not reaped.
    var processID: pid_t? {
        guard let processID = recordedProcessID,
            let arguments = FileManager.default.contents(atPath: "/proc/\(processID)/cmdline"),
            arguments.split(separator: 0).contains(where: { $0.elementsEqual(folder.data.utf8) })
        else { return nil }
        return processID
    }

    /// Whether the server of the folder accepts connections, according to the eighth line of `postmaster.pid`.
    var isReady: Bool {
        guard processID != nil, let text = try? String(contentsOfFile: processIDFile, encoding: .utf8) else {
            return false
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(7).first?.hasPrefix("ready")
            ?? false
    }

    /// The first line of `postmaster.pid`.
    private var recordedProcessID: pid_t? {
        let text = try? String(contentsOfFile: processIDFile, encoding: .utf8)
        return text.flatMap { $0.split(separator: "\n").first }.flatMap { pid_t($0) }
    }

    /// Starts the server and waits until it accepts connections.
    ///
    /// - Throws: `startFailed` with the end of the log.
    func start(settings: [String: String]) async throws(EmbeddedPostgresError) {
        invalidateStaleProcessID()
        try SocketFolder.make(folder.socketFolder, user: folder.user)
        SocketFolder.clear(folder.socketFolder)
        unlink(folder.startLog)
        let options = settings.sorted { $0.key < $1.key }.map { "-c \(Self.quoted("\($0.key)=\($0.value)"))" }
        do {
            try await command.run(
                "pg_ctl",
                [
                    "start", "--silent", "--wait", "--timeout", "\(Self.startDeadlineSeconds)",
                    "--pgdata", folder.data, "--log", folder.startLog, "--options", options.joined(separator: " "),
                ])
        } catch {
            let log = ServerLog.end(folder) ?? "\(error)"
            // A server that is only slow must not stay running without an owner.
            try? await stop(.immediate)
            throw .startFailed(log: log)
        }
    }

    /// Stops the server if it runs, and waits until it has exited.
    ///
    /// - Throws: `stopFailed`.
    func stop(_ mode: EmbeddedPostgres.StopMode) async throws(EmbeddedPostgresError) {
        guard processID != nil else { return }
        do {
            try await command.run(
                "pg_ctl",
                [
                    "stop", "--silent", "--wait", "--timeout", "\(Self.stopDeadlineSeconds)",
                    "--pgdata", folder.data, "--mode", mode.rawValue,
                ])
        } catch {
            // It may have exited between the check and the command.
            guard processID != nil else { return }
            throw .stopFailed(directory: folder.data, reason: "\(error)")
        }
    }

    /// Kills only the server process, like a crash, and waits until its children have exited too, which they do by
    /// themselves: while one of them lives, the folder's next server refuses to start.
    package func kill() async {
        guard let processID else { return }
        // Otherwise it could start a child between the reading of the list and the signal.
        Glibc.kill(processID, SIGSTOP)
        _ = await becomesTrue(within: Self.orphanDeadline) { !ProcessTable.isRunning(processID) }
        let children = ProcessTable.children(of: processID)
        Glibc.kill(processID, SIGKILL)
        if await haveEnded([processID] + children) { return }
        for child in children where ProcessTable.isAlive(child) { Glibc.kill(child, SIGKILL) }
        _ = await haveEnded(children)
    }

    private func haveEnded(_ processIDs: [pid_t]) async -> Bool {
        await becomesTrue(within: Self.orphanDeadline) { !processIDs.contains(where: ProcessTable.isAlive) }
    }

    /// Sends a signal to the server process and its children: first the server, which then starts no other child.
    func signal(_ signal: Int32) {
        guard let processID else { return }
        Glibc.kill(processID, signal)
        for child in ProcessTable.children(of: processID) { Glibc.kill(child, signal) }
    }

    /// Replaces a process id in `postmaster.pid` that now belongs to an unrelated process by an impossible one.
    /// Otherwise the server would refuse to start, which is common in containers, where ids start again at 1. The rest
    /// of the file stays: the server uses it to check whether an earlier server's children still live.
    private func invalidateStaleProcessID() {
        guard let recordedProcessID, processID == nil, Glibc.kill(recordedProcessID, 0) == 0 || errno == EPERM,
            let text = try? String(contentsOfFile: processIDFile, encoding: .utf8)
        else { return }
        let rest = text.drop { $0 != "\n" }
        // Written in place: a new file would belong to root. Its folder belongs to the server's user, who must not lead
        // root to another file.
        let descriptor = open(processIDFile, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try? file.write(contentsOf: Data("\(Self.impossibleProcessID)\(rest)".utf8))
    }

    /// Quotes one word for the shell through which `pg_ctl` starts the server.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

/// The server's log, for the error that it did not start.
enum ServerLog {
    private static let linesMax = 12
    /// The end of the file that is read: a log of a week may have gigabytes.
    private static let bytesMax: UInt64 = 64 * 1024

    /// The last lines of the most recent log file; nil if it is empty.
    static func end(_ folder: ClusterFolder) -> String? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.log)) ?? []
        let newest = names.map { "\(folder.log)/\($0)" }.max { modified($0) < modified($1) }
        guard let newest, let data = lastBytes(of: newest), !data.isEmpty else { return nil }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.suffix(linesMax).joined(separator: "\n")
    }

    private static func lastBytes(of path: String) -> Data? {
        guard let file = FileHandle(forReadingAtPath: path), let count = try? file.seekToEnd() else { return nil }
        try? file.seek(toOffset: count - min(count, bytesMax))
        return try? file.readToEnd()
    }

    private static func modified(_ path: String) -> Date {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.modificationDate] as? Date ?? .distantPast
    }
}

/// Linux's processes, read from `/proc/<id>/stat`, which every user can read (proc(5)).
enum ProcessTable {
    /// Whether the process runs; a zombie does not.
    static func isAlive(_ processID: pid_t) -> Bool {
        guard let state = fields(processID)?.first else { return false }
        return state != "Z" && state != "X"
    }

    /// Whether the process is neither stopped by SIGSTOP nor at its end.
    static func isRunning(_ processID: pid_t) -> Bool {
        isAlive(processID) && fields(processID)?.first != "T"
    }

    static func children(of parent: pid_t) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { fields($0)?.dropFirst().first == "\(parent)" }
    }

    /// The fields after the program's name, from the state on. The name is in parentheses and may contain some itself.
    private static func fields(_ processID: pid_t) -> [Substring]? {
        guard let data = FileManager.default.contents(atPath: "/proc/\(processID)/stat") else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        return text.lastIndex(of: ")").map { text[$0...].dropFirst().split(separator: " ") }
    }
}
