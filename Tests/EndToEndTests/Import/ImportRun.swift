import Foundation
import RegistryTestSupport

/// One run of `push-registry import` in a temporary folder.
struct ImportRun {
    let status: Int32
    /// The output of `--json`.
    let summary: JSON
    let log: String
    /// The report of rejected lines, parsed and as text.
    let rejects: [JSON]
    let rejectsText: String

    /// Read, imported, unchanged, skipped, rejected.
    var counts: [Int64?] {
        ["read", "imported", "unchanged", "skipped", "rejected"].map { name in
            name == "skipped"
                ? summary[name].object.values.reduce(0) { $0 + ($1.integer ?? 0) } : summary[name].integer
        }
    }

    init(
        _ content: some Collection<UInt8>, into app: RegistryApp, as name: String = "fleet.ndjson",
        _ arguments: [String] = [], olderRejects: String? = nil
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(content).write(to: folder.appending(path: name))
        let rejected = folder.appending(path: name + ".rejected.ndjson")
        try olderRejects.map { try Data($0.utf8).write(to: rejected) }
        let result = try await app.registry.run(
            ["import", name, "--app", app.id, "--json"] + arguments, in: folder.path)
        (status, log) = (result.status, result.log)
        summary = (try? JSON(parsing: result.output.utf8)) ?? .null
        rejectsText = (try? String(contentsOf: rejected, encoding: .utf8)) ?? ""
        rejects = try rejectsText.utf8.split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: $0) }
    }

    /// The lines of `content`, as NDJSON.
    init(_ lines: [JSON], into app: RegistryApp, _ arguments: [String] = []) async throws {
        try await self.init(lines.map { $0.text + "\n" }.joined().utf8, into: app, as: "fleet.ndjson", arguments)
    }
}
