import Foundation
import Glibc
import PostgresClient

/// The resource usage of a process, from proc(5).
struct ProcessUsage: Sendable {
    let processID: Int32

    /// The postmaster of this database.
    static func ofPostmaster(_ database: PostgresConfiguration) async throws -> ProcessUsage {
        try await PostgresSession.withSession(database) { session in
            let backend = ProcessUsage(processID: try session.execute("SELECT pg_backend_pid()")[0].decode(0))
            return ProcessUsage(processID: Int32(try backend.statFields()[Field.parent]))
        }
    }

    private static let ticksPerSecond = Double(sysconf(CInt(_SC_CLK_TCK)))

    /// User and system CPU time of all its threads.
    func cpuSeconds() throws -> Double {
        let fields = try statFields()
        return Double(fields[Field.utime] + fields[Field.stime]) / Self.ticksPerSecond
    }

    /// Its own CPU time and that of all its children, including reaped ones. For a PostgreSQL server use the
    /// postmaster's id.
    func cpuSecondsWithChildren() throws -> Double {
        let own = try statFields()
        let ended = own[Field.cutime] + own[Field.cstime]
        let living = Self.all().filter { $0.parent == processID }.reduce(0) { $0 + $1.ticks }
        return Double(own[Field.utime] + own[Field.stime] + ended + living) / Self.ticksPerSecond
    }

    /// CPU time of its reaped children.
    func endedChildrenCPUSeconds() throws -> Double {
        let fields = try statFields()
        return Double(fields[Field.cutime] + fields[Field.cstime]) / Self.ticksPerSecond
    }

    /// Resident memory.
    func residentMegabytes() throws -> Double { try megabytes("VmRSS:") }

    /// The peak of resident memory so far.
    func highestResidentMegabytes() throws -> Double { try megabytes("VmHWM:") }

    private func megabytes(_ name: String) throws -> Double {
        let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        let kilobytes = line?.split(separator: " ").compactMap { Double($0) }.first
        return (kilobytes ?? 0) / 1_024
    }

    /// Whether the process has not ended; a zombie has.
    var isRunning: Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return false }
        return !text[text.index(after: end)...].hasPrefix(" Z")
    }

    /// Indices of the fields after the name, which is in parentheses and may contain any character.
    private enum Field {
        static let parent = 1
        static let utime = 11
        static let stime = 12
        static let cutime = 13
        static let cstime = 14
    }

    private func statFields() throws -> [Int] {
        let text = try String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
        guard let end = text.lastIndex(of: ")") else { return [] }
        return text[text.index(after: end)...].split(separator: " ").map { Int($0) ?? 0 }
    }

    private static func all() -> [(parent: Int32, ticks: Int)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.compactMap { processID in
            guard let fields = try? ProcessUsage(processID: processID).statFields(), fields.count > Field.cstime else {
                return nil
            }
            return (Int32(fields[Field.parent]), fields[Field.utime] + fields[Field.stime])
        }
    }
}
