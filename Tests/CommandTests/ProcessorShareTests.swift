import Foundation
import Testing

@testable import push_registry

@Suite("The default number of event loops is the number of processors that the process may use")
struct ProcessorShareTests {
    @Test(
        arguments: [
            (4, nil, 4), (64, nil, 16), (64, 2, 2), (64, 1.5, 2), (8, 0.25, 1), (2, 6, 2), (1, 100, 1),
        ] as [(Int, Double?, Int)])
    func eventLoops_areTheSmallestOfAffinityQuotaAnd16(processors: Int, quota: Double?, loops: Int) {
        #expect(ProcessorShare.eventLoops(processors: processors, quota: quota) == loops)
    }

    /// The quota that the files show.
    private func quota(_ files: [String: String]) throws -> Double? {
        let root = FileManager.default.temporaryDirectory.appending(path: "cgroup-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in files {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data((text + "\n").utf8).write(to: file)
        }
        return ProcessorShare.quota(root: root.path)
    }

    @Test func quota_isTheSmallest_ofTheGroupsOfVersion2() throws {
        let group = ["proc/self/cgroup": "0::/pods/pod-1"]
        #expect(try quota(group) == nil)
        #expect(try quota(["proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "150000 100000"]) == 1.5)
        // In a container, the path may be the host's, and the root is the container's group.
        #expect(try quota(group.merging(["sys/fs/cgroup/cpu.max": "200000 100000"]) { $1 }) == 2)
        let nested = [
            "sys/fs/cgroup/pods/cpu.max": "50000 100000", "sys/fs/cgroup/pods/pod-1/cpu.max": "400000 100000",
        ]
        #expect(try quota(group.merging(nested) { $1 }) == 0.5)
        #expect(try quota(group.merging(["sys/fs/cgroup/pods/pod-1/cpu.max": "max 100000"]) { $1 }) == nil)
    }

    @Test func quota_isThatOfTheGroupOfVersion1() throws {
        let group = ["proc/self/cgroup": "7:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n0::/docker/a"]
        let files = ["sys/fs/cgroup/cpu/cpu.cfs_quota_us": "250000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"]
        #expect(try quota(group.merging(files) { $1 }) == 2.5)
        let unlimited = ["sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"]
        #expect(try quota(group.merging(unlimited) { $1 }) == nil)
    }

    @Test(arguments: ["", "x", "1", "1 2 3", "0 100000", "100000 0", "max", "99999999999999999999 1"])
    func quota_isAbsent_whenAFileIsUnreadable(text: String) throws {
        #expect(try quota(["proc/self/cgroup": "0::/\nnonsense", "sys/fs/cgroup/cpu.max": text]) == nil)
    }
}
