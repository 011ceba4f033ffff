import ArgumentParser
import EmbeddedPostgres
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry

/// Loads the same installations by `\copy` and by `push-registry import`, in turn.
struct ImportBenchmark {
    private static let ratioMin = 0.5
    private static let app = "com.example.bench"

    private let server: EmbeddedPostgres
    private let binary: Binary
    private let psql: Binary
    private let count: Int
    private let seed: UInt64
    private let folder: URL
    /// Files of other systems, which are measured too.
    private let files: [ForeignFile]

    init(_ server: EmbeddedPostgres, _ binary: Binary, count: Int, seed: UInt64, files: [ForeignFile]) throws {
        self.files = files
        self.server = server
        self.binary = binary
        self.count = count
        self.seed = seed
        psql = try Binary.postgres("psql")
        folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-bench-import-\(getpid())")
    }

    func run(rounds: Int, log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        log("writing \(count) installations to files")
        try await writeFiles()
        let foreignCount = try await installations(where: ForeignFile.condition)
        var report = BenchmarkReport("import of \(count) installations")
        for _ in 1...rounds {
            let copy = ("\\copy", try await measure { try await copyIn() })
            let own = try await measure { try await runImport() }
            report.add("import", own, "a second", against: copy, .ratioMin(Self.ratioMin))
            log("import: \(Int(own)) a second, \\copy \(Int(copy.1))")
            for file in files {
                let rate = try await measure(expecting: foreignCount) { try await runImport(file) }
                report.add("import from \(file.system)", rate, "a second", against: copy, .ratioMin(Self.ratioMin))
                log("import of \(file.system): \(Int(rate)) a second")
            }
        }
        report.note("Medians of \(rounds) rounds, into emptied tables.")
        return report
    }

    private func writeFiles() async throws {
        try await binary.run(["migrate"], environment: environment)
        let database = try PostgresConfiguration(server.connectionString, applicationName: "push-registry-bench")
        var loader = FleetLoader()
        loader.writesHistory = false
        let fleet = Fleet(
            seed: seed, app: try await App.find(AppID(Self.app), in: database), count: count, asOf: .now,
            lastSeen: .fourMonths,
            links: try TimeZoneLinks())
        try await loader.load(fleet, into: database)
        try await sql(#"\copy installation TO '\#(rows)'"#)
        // CSV with quote and delimiter characters that do not occur: the text format would escape JSON's backslashes.
        let format = #"(FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')"#
        let named = "installation JOIN installation_settings USING (app_id, install_id)"
        try await sql(#"\copy (SELECT \#(Self.line) FROM \#(named)) TO '\#(lines)' \#(format)"#)
        for file in files {
            let header = file.header.map { "SELECT '\($0)' UNION ALL " } ?? ""
            let line = file.line.split(separator: "\n").joined(separator: " ")
            let rows = "(\(header)SELECT (\(line))::text FROM installation WHERE \(ForeignFile.condition))"
            try await sql(#"\copy \#(rows) TO '\#(folder.appending(path: file.name).path)' \#(format)"#)
        }
    }

    private func installations(where condition: String) async throws -> Int {
        let text = try await psql.run([
            server.superuserConnectionString, "-XAtc", "SELECT count(*) FROM installation WHERE \(condition)",
        ])
        guard let count = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchmarkFailure("no count: \(text)")
        }
        return count
    }

    /// Returns the installations loaded per second, into empty tables and after a checkpoint.
    private func measure(expecting expected: Int? = nil, _ load: () async throws -> Void) async throws -> Double {
        try await sql("TRUNCATE installation, token_event, user_guard, token_holder, installation_owner")
        try await sql("CHECKPOINT")
        let start = ContinuousClock.now
        try await load()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let (loaded, expected) = (try await installations(where: "true"), expected ?? count)
        guard loaded == expected else { throw BenchmarkFailure("\(loaded) installations instead of \(expected)") }
        return Double(loaded) / seconds
    }

    private func copyIn() async throws {
        try await psql.run(
            [
                server.superuserConnectionString, "-Xq", "-v", "ON_ERROR_STOP=1", "-c",
                "SET session_replication_role = replica", "-c", #"\copy installation FROM '\#(rows)'"#,
            ])
    }

    private func runImport() async throws {
        try await binary.run(["import", lines, "--app", Self.app], environment: environment)
    }

    private func runImport(_ file: ForeignFile) async throws {
        let path = folder.appending(path: file.name).path
        try await binary.run(
            ["import", path, "--app", Self.app, "--from", file.system] + file.arguments, environment: environment)
    }

    private func sql(_ text: String) async throws {
        try await psql.run([server.superuserConnectionString, "-Xq", "-v", "ON_ERROR_STOP=1", "-c", text])
    }

    private var environment: [String: String] { ["PUSH_REGISTRY_DATABASE_URL": server.connectionString] }
    private var rows: String { folder.appending(path: "rows.txt").path }
    private var lines: String { folder.appending(path: "fleet.ndjson").path }

    /// An installation as in an export of all fields.
    private static let line: String = {
        let fields: [(String, String)] = [
            ("installId", "install_id"), ("provider", "provider"), ("token", "token"),
            ("keys", "CASE WHEN p256dh IS NOT NULL THEN json_build_object('p256dh', p256dh, 'auth', auth) END"),
            ("generation", "generation"), ("userId", "user_id"), ("locale", "locale"), ("language", "language"),
            ("region", "region"), ("timeZone", "time_zone_id"), ("utcOffset", "time_zone_offset"),
            ("systemName", "system_name"), ("osVersion", "system_version"), ("appVersion", "app_version"),
            ("deviceModel", "device_model"), ("carrier", "carrier"), ("appStore", "app_store"),
            ("authorizationStatus", "authorization_status"), ("soundSetting", "sound_setting"),
            ("badgeSetting", "badge_setting"), ("alertSetting", "alert_setting"),
            ("lockScreenSetting", "lock_screen_setting"), ("alertStyle", "alert_style"),
            ("lastSeenAt", "replace(to_json(last_seen_at AT TIME ZONE 'UTC')#>>'{}', ' ', 'T') || 'Z'"),
            ("createdAt", "replace(to_json(created_at AT TIME ZONE 'UTC')#>>'{}', ' ', 'T') || 'Z'"),
        ]
        return "json_strip_nulls(json_build_object("
            + fields.map { "'\($0.0)', \($0.1)" }.joined(separator: ", ") + "))"
    }()
}

struct ImportBenchmarkCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Measure push-registry import against psql's \\copy of the same rows.",
        discussion: """
            Starts a throw-away PostgreSQL and writes a fleet to two files: rows for \\copy, and NDJSON. Then it loads \
            each in turn into the emptied table: with \\copy, where the table has its indexes but no triggers and \
            nothing else is written; and with push-registry import, which reads and validates every line, compares it \
            with the registered installations, and writes an event and the changes of counts.
            """)

    @Option(help: "Installations in the files.")
    var count = 500_000

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @Flag(help: "Measure the exports of other systems as well.")
    var foreign = false

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count > 0, rounds > 0 else { throw ValidationError("--count and --rounds must be above 0.") }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(RunBenchmark.clusterSettings(RunOptions())) { server, binary in
            let files = foreign ? ForeignFile.all : []
            let benchmark = try ImportBenchmark(server, binary, count: count, seed: common.seed, files: files)
            return try await benchmark.run(rounds: rounds, log: log)
        }
    }
}
