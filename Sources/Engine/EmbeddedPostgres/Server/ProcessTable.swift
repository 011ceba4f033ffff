import Foundation
import Glibc

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
