import Basics
import Foundation
import Glibc

/// The resources that the process uses, from `/proc/self` (proc(5)), under the names that all Prometheus clients use.
/// Unreadable values are omitted.
enum ProcessMetrics {
    static let descriptions = [
        MetricDescription(
            "log_lines_dropped_total", .counter,
            "Log lines that were dropped because no program read the log fast enough, or that could not be written."),
        MetricDescription("process_cpu_seconds_total", .counter, "CPU time, user and system."),
        MetricDescription("process_open_fds", .gauge, "Open file descriptors."),
        MetricDescription("process_resident_memory_bytes", .gauge, "Memory in RAM."),
        MetricDescription("process_start_time_seconds", .gauge, "When the process started, in Unix time."),
    ]

    static func families() -> [MetricFamily] {
        let stat = statFields()
        let values = [
            Double(LogOutput.standardError.droppedLineCount), stat.flatMap(cpuSeconds),
            openDescriptors.value(at: .now), stat.flatMap(residentBytes), startTime,
        ]
        return zip(descriptions, values).compactMap { description, value in
            value.map { MetricFamily(description, GaugeSeries($0)) }
        }
    }

    /// The fields after the program's name. The name is in parentheses and may contain some itself. The first field
    /// here is field 3 of proc(5).
    private static func statFields() -> [Double]? {
        guard let text = contents("/proc/self/stat"), let nameEnd = text.lastIndex(of: ")") else { return nil }
        let fields = text[nameEnd...].dropFirst().split(separator: " ").map { Double($0) ?? 0 }
        return fields.count > 21 ? fields : nil
    }

    /// `utime` and `stime`, fields 14 and 15.
    private static func cpuSeconds(_ stat: [Double]) -> Double {
        (stat[11] + stat[12]) / ticksPerSecond
    }

    /// `rss`, field 24, in pages.
    private static func residentBytes(_ stat: [Double]) -> Double {
        stat[21] * Double(sysconf(CInt(_SC_PAGESIZE)))
    }

    /// One less than the listing: the listing itself opens a descriptor. With many connections it takes milliseconds.
    private static let openDescriptors = CachedSecond {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { Double($0.count - 1) }
    }

    /// `starttime`, field 22, counts from the boot time, `btime` of `/proc/stat`.
    private static let startTime: Double? = {
        guard let stat = statFields(), let system = contents("/proc/stat") else { return nil }
        let line = system.split(separator: "\n").first { $0.hasPrefix("btime ") }
        let bootTime = line.flatMap { Double($0.dropFirst("btime ".count)) }
        return bootTime.map { $0 + stat[19] / ticksPerSecond }
    }()

    private static let ticksPerSecond = Double(sysconf(CInt(_SC_CLK_TCK)))

    private static func contents(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// A figure that is measured at most once a second.
final class CachedSecond: Sendable {
    private let measure: @Sendable () -> Double?
    private let last = Locked<(value: Double?, at: ContinuousClock.Instant)?>(nil)

    init(_ measure: @escaping @Sendable () -> Double?) {
        self.measure = measure
    }

    func value(at now: ContinuousClock.Instant) -> Double? {
        last.withLock { last in
            if let last, now - last.at < .seconds(1) { return last.value }
            let value = measure()
            last = (value, now)
            return value
        }
    }
}
