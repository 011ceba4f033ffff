import Foundation
import Glibc

/// The server process of one folder: finding, starting and ending it.
///
/// `pg_ctl` does the work. The server is thus nobody's child, and one that an earlier owner left behind is handled
/// like one's own.
struct Postmaster: Sendable {
    /// Recovery after a crash replays at most `max_wal_size` of log, 1 GB, in well under this.
    private static let startDeadlineSeconds = 120
    /// Ending sessions and writing out the shared buffers.
    private static let stopDeadlineSeconds = 60
    /// How long the server's children may outlive it once it was killed.
    private static let orphanDeadline = Duration.seconds(5)
    /// Linux's process ids end below this (`PID_MAX_LIMIT`, proc(5)).
    private static let impossibleProcessID = 4_194_304

    let folder: ClusterFolder
    let command: ServerCommand

    private var processIDFile: String { "\(folder.data)/postmaster.pid" }

    /// The process that serves the folder now, told by its arguments: an id alone may be another process's by now, or
    /// that of a dead process that nobody has waited for.
    var processID: pid_t? {
        guard let processID = notedProcessID,
            let arguments = FileManager.default.contents(atPath: "/proc/\(processID)/cmdline"),
            arguments.split(separator: 0).contains(where: { $0.elementsEqual(folder.data.utf8) })
        else { return nil }
        return processID
    }

    /// Whether the process that serves the folder accepts connections, as the eighth line of its file says.
    var isReady: Bool {
        guard processID != nil, let text = try? String(contentsOfFile: processIDFile, encoding: .utf8) else {
            return false
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(7).first?.hasPrefix("ready")
            ?? false
    }

    /// The first line of `postmaster.pid`.
    private var notedProcessID: pid_t? {
        let text = try? String(contentsOfFile: processIDFile, encoding: .utf8)
        return text.flatMap { $0.split(separator: "\n").first }.flatMap { pid_t($0) }
    }

    /// Starts the server and waits until it accepts connections.
    ///
    /// - Throws: `startFailed` with the end of the log.
    func start(settings: [String: String]) async throws(EmbeddedPostgresError) {
        disownStaleProcessID()
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
            // One that is merely late must not live on without an owner.
            try? await stop(.immediate)
            throw .startFailed(log: log)
        }
    }

    /// Ends the server, if one runs, and waits until it has ended.
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
            // It may have ended by itself between the look and the command.
            guard processID != nil else { return }
            throw .stopFailed(directory: folder.data, reason: "\(error)")
        }
    }

    /// Kills the server process alone, as a crash would, and waits until its children, which notice, are gone too:
    /// while one lives, the folder's next server refuses to start.
    func kill() async {
        guard let processID else { return }
        let children = ProcessTable.children(of: processID)
        Glibc.kill(processID, SIGKILL)
        let ended = await becomesTrue(within: Self.orphanDeadline) {
            !([processID] + children).contains(where: ProcessTable.isAlive)
        }
        guard !ended else { return }
        for child in children where ProcessTable.isAlive(child) { Glibc.kill(child, SIGKILL) }
    }

    /// Makes a `postmaster.pid` whose process id has become somebody else's name a process that cannot exist. The
    /// server would refuse to start beside the living process (in a container, where ids begin anew, that is common);
    /// the rest of the file stays, from which it tells whether an earlier server's children still live.
    private func disownStaleProcessID() {
        guard let notedProcessID, processID == nil, Glibc.kill(notedProcessID, 0) == 0 || errno == EPERM,
            let text = try? String(contentsOfFile: processIDFile, encoding: .utf8)
        else { return }
        let rest = text.drop { $0 != "\n" }
        // Written in place: a new file would belong to root.
        guard let file = FileHandle(forWritingAtPath: processIDFile) else { return }
        try? file.truncate(atOffset: 0)
        try? file.write(contentsOf: Data("\(Self.impossibleProcessID)\(rest)".utf8))
    }

    /// One word for the shell through which `pg_ctl` starts the server.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
