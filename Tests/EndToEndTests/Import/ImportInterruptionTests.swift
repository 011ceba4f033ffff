import EmbeddedPostgres
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("An interrupted import continues when it is run again, and loads nothing twice (R15)", .serialized)
struct ImportInterruptionTests {
    /// More than the two sets that are written at the same time.
    private static let installations = 30_000
    /// Those with an older row, of another owner and without a topic.
    private static let doubled = 5_000

    private enum Victim: CaseIterable {
        case importer, database
    }

    private static func writeExport(in folder: URL) throws {
        var text = ""
        for (day, user, channels, count) in [(1, "former", "", doubled), (2, "owner", #""news""#, installations)] {
            for number in 0..<count {
                text += """
                    {"installationId":"i-\(number)","deviceType":"android","deviceToken":"token-\(number)",\
                    "user":"\(user)-\(number % 5_000)","updatedAt":"2026-11-0\(day)T00:00:00Z","channels":[\(channels)]}

                    """
            }
        }
        try Data(text.utf8).write(to: folder.appending(path: "fleet.ndjson"))
    }

    private func imported(_ app: RegistryApp) async throws -> Int {
        try await app.database.count("SELECT count(*) FROM installation WHERE app_id = \(try await app.number())")
    }

    private func interrupt(_ victim: Victim, _ command: RegistryCommand, _ app: RegistryApp) async throws {
        try await eventually("the first set is committed", within: .seconds(120)) { try await imported(app) > 0 }
        switch victim {
        case .importer:
            command.send(SIGKILL)
            #expect(try await command.exitStatus() == 128 + SIGKILL)
        case .database:
            await app.registry.cluster.kill()
            #expect(try await command.exitStatus(within: .seconds(60)) == 1)
            #expect(!command.log.contains("token-"), "\(command.log)")
            try await app.registry.cluster.restart()
        }
    }

    @Test(arguments: Victim.allCases)
    private func rerun_completesTheImport_whenAProcessIsKilled(victim: Victim) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.writeExport(in: folder)
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let environment = ["PUSH_REGISTRY_DATABASE_URL": registry.cluster.connectionString]
            let arguments = ["import", "fleet.ndjson", "--app", app.id, "--from", "parse", "--topics", "--json"]
            let first = try RegistryCommand(arguments, environment: environment, in: folder.path)
            try await interrupt(victim, first, app)
            try await eventually("PostgreSQL is back, and no set is being written", within: .seconds(30)) {
                let writers = try? await registry.database.count(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE application_name = 'push-registry import' AND pid <> pg_backend_pid()
                    """)
                return writers == 0
            }
            let kept = try await imported(app)
            #expect((1..<Self.installations).contains(kept) && kept % 5_000 == 0, "\(kept) were imported before")

            let rerun = try RegistryCommand(arguments, environment: environment, in: folder.path)
            #expect(try await rerun.exitStatus(within: .seconds(240)) == 0, "\(rerun.log)")
            let summary = try JSON(parsing: rerun.output.utf8)
            #expect(summary["imported"].integer == Int64(Self.installations - kept))
            #expect(summary["unchanged"].integer == Int64(kept))
            #expect(summary["duplicates"].integer == Int64(Self.doubled) && summary["rejected"] == 0)
            #expect(try await imported(app) == Self.installations)
            let number = try await app.number()
            for (event, wanted) in [("imported", Self.installations), ("topicsChanged", Self.installations)] {
                let events = try await registry.database.count(
                    """
                    SELECT count(*) FROM (
                        SELECT install_id FROM token_event
                        WHERE app_id = \(number) AND event = \(event)::event_kind
                        GROUP BY install_id HAVING count(*) = 1) AS once
                    """)
                #expect(events == wanted, "\(event)")
            }
            registry.client.closeIdle()
            #expect(try await app.count([:]) == Int64(Self.installations))
            #expect(try await app.count(["topic": "news"]) == Int64(Self.installations))
            #expect(try await app.send("GET", "/users/former-0/installations").json["installations"] == [])
            let verified = try RegistryCommand(["verify"], environment: environment)
            #expect(try await verified.exitStatus(within: .seconds(120)) == 0, "\(verified.output)")
        }
    }
}
