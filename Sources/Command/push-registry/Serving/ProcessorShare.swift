import Foundation

/// How many processors this process may use, for the default number of event loops.
enum ProcessorShare {
    /// More loops need many connections to PostgreSQL, and make batches small.
    static let eventLoopsMax = 16

    /// The default number of event loops: one per processor that the process may use.
    static var eventLoops: Int {
        eventLoops(processors: ProcessInfo.processInfo.activeProcessorCount, quota: quota())
    }

    /// - Parameters:
    ///   - processors: of the process's affinity.
    ///   - quota: the processors' time that the process may use; nil for all of it.
    static func eventLoops(processors: Int, quota: Double?) -> Int {
        let allowed = min(Double(processors), quota?.rounded(.up) ?? .infinity, Double(eventLoopsMax))
        return max(1, Int(allowed))
    }

    /// The CPU quota of the process's control group and of the groups around it, in processors: `cpu.max` of cgroup v2
    /// (Linux, Documentation/admin-guide/cgroup-v2.rst), `cpu.cfs_quota_us` and `cpu.cfs_period_us` of v1.
    ///
    /// In a container the file system usually shows the container's group as the root, whatever the path is, so all
    /// groups from the path to the root are read and the smallest quota counts.
    ///
    /// - Parameter root: the folder of `proc` and `sys`.
    /// - Returns: nil if there is no quota, or if no file has the expected form.
    static func quota(root: String = "") -> Double? {
        let groups = (try? String(contentsOfFile: root + "/proc/self/cgroup", encoding: .utf8)) ?? ""
        let quotas = groups.split(separator: "\n").flatMap { line -> [Double] in
            // `0::/path`, or `4:cpu,cpuacct:/path`
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return [] }
            let isV2 = parts[0] == "0" && parts[1].isEmpty
            guard isV2 || parts[1].split(separator: ",").contains("cpu") else { return [] }
            let mount = root + "/sys/fs/cgroup" + (isV2 ? "" : "/cpu")
            let names = parts[2].split(separator: "/")
            return (0...names.count).compactMap { count in
                let folder = ([mount] + names.prefix(count).map(String.init)).joined(separator: "/")
                return isV2 ? quotaV2(folder) : quotaV1(folder)
            }
        }
        return quotas.min()
    }

    /// `max 100000` or `150000 100000`: microseconds in each period.
    private static func quotaV2(_ folder: String) -> Double? {
        ratio(numbers(folder + "/cpu.max"))
    }

    /// -1: no quota.
    private static func quotaV1(_ folder: String) -> Double? {
        ratio(numbers(folder + "/cpu.cfs_quota_us") + numbers(folder + "/cpu.cfs_period_us"))
    }

    private static func ratio(_ numbers: [Double?]) -> Double? {
        guard numbers.count == 2, let quota = numbers[0], let period = numbers[1], quota > 0, period > 0 else {
            return nil
        }
        return quota / period
    }

    private static func numbers(_ path: String) -> [Double?] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(whereSeparator: \.isWhitespace).map { Int64($0).map(Double.init) }
    }
}
