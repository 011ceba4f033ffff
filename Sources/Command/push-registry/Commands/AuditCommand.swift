import ArgumentParser
import PushRegistry
import RegistryAPI
import RegistryStore

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "List who changed what in an app, the newest first.",
        usage: "push-registry audit [<app>] [--limit <limit>] [--json] [<options>]",
        discussion: "Without an app, it lists what belongs to none: deletions of apps, and undone clean-ups.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The app id.") var app: String?
    @Option(help: "How many.") var limit = 100
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...10_000).contains(limit) else { throw ValidationError("--limit is 1 to 10000.") }
    }

    func run() async throws {
        let (entries, snapshot) = try await withDirectory(common, isQuiet: json) { directory in
            let snapshot = try await directory.current()
            let entries = try await PostgresAuditStore(postgres: directory.postgres).entries(
                of: try app.map { try snapshot.app($0).number }, action: nil, actor: nil, before: nil, limit: limit)
            return (entries, snapshot)
        }
        if json { return try printJSON(listing: "entries", entries) { $0.about($1, in: snapshot) } }
        for recorded in entries { printLine(recorded.line(in: snapshot)) }
    }
}

extension RecordedAuditEntry {
    fileprivate func line(in snapshot: DirectorySnapshot) -> String {
        let name = entry.actorName(in: snapshot).map { " (\($0))" } ?? ""
        let members = entry.members.isEmpty ? "" : "  " + entry.members.joined(separator: ",")
        return "\(at)  \(entry.actor)\(name)  \(entry.action)  \(entry.target)\(members)"
    }
}
