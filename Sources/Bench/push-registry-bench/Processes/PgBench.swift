import Foundation
import PostgresClient
import PushRegistry

/// `pgbench`: the same work as one-row prepared statements, directly on PostgreSQL.
struct PgBench {
    static let clients = 8
    static let threads = 2

    let database: String
    let postgres: ProcessUsage

    struct Result: Sendable {
        let transactionsPerSecond: Double
        let postgresMicroseconds: Double
    }

    /// Runs the script for `seconds` without a pause.
    func run(_ script: String, seconds: Int) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appending(path: "push-registry-bench-\(UUID().uuidString).sql")
        try Data(script.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let before = try postgres.cpuSecondsWithChildren()
        let output = try await Binary.postgres("pgbench").run([
            "--no-vacuum", "--protocol=prepared", "--client=\(Self.clients)", "--jobs=\(Self.threads)",
            "--time=\(seconds)", "--file=\(file.path)", database,
        ])
        let cpu = try postgres.cpuSecondsWithChildren() - before
        let count = try Self.number(in: output, after: "number of transactions actually processed: ")
        return Result(
            transactionsPerSecond: try Self.number(in: output, after: "tps = "),
            postgresMicroseconds: cpu / max(count, 1) * 1_000_000)
    }

    private static func number(in output: String, after label: String) throws -> Double {
        guard let start = output.range(of: label)?.upperBound,
            let number = Double(output[start...].prefix { $0.isNumber || $0 == "." })
        else { throw BenchmarkFailure("pgbench printed no \(label): \(output)") }
        return number
    }
}

/// The scripts for pgbench: the work of a service that sends one prepared statement per registration. No events and no
/// history, only the table.
struct PgBenchScript: Sendable {
    private static let settings = ["sound_setting", "badge_setting", "alert_setting", "lock_screen_setting"]

    /// A column and the literal of its value in a typical row.
    private let columns: [(name: String, literal: String)]
    private let seed: UInt64
    private let count: Int

    /// Uses a row of the fleet as the model: an Apple device of a signed-in user.
    init(_ session: PostgresSession, app: App, seed: UInt64, count: Int) throws {
        (self.seed, self.count) = (seed, count)
        let names = try session.execute(
            """
            SELECT attname::text FROM pg_attribute
            WHERE attrelid = 'installation'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
            ORDER BY attnum
            """
        ).map { try $0.decode(0, as: String.self) }
        let literals = names.map { PostgresSQL("quote_nullable(\(identifier: $0)::text)") }
        let row = try session.execute(
            PostgresStatement(
                """
                SELECT \(sql: literals.joined(separator: ", ")) FROM installation
                WHERE app_id = \(app.number.rawValue) AND provider = 'apns' AND session_id IS NOT NULL
                    AND session_expires_at IS NULL ORDER BY install_id LIMIT 1
                """))
        guard let model = row.first else { throw BenchmarkFailure("the fleet is too small") }
        columns = try names.enumerated().map { ($1, try model.decode($0, as: String.self)) }
    }

    /// Updates the row of a random existing installation: its settings change and every other column is written
    /// unchanged. No indexed column changes, so PostgreSQL updates in place (HOT).
    var upsert: String {
        let updates = columns.map(\.name).filter { $0 != "app_id" && $0 != "install_id" }.map { name in
            switch name {
            case _ where Self.settings.contains(name): "excluded.\(name)"
            case "last_seen_at": "now()"
            default: "installation.\(name)"
            }
        }
        let updated = columns.map(\.name).filter { $0 != "app_id" && $0 != "install_id" }
        let values = values([
            "install_id": "md5('\(seed)-' || (:number)::text)::uuid::text",
            "sound_setting": switched(1), "badge_setting": switched(2), "alert_setting": switched(4),
            "lock_screen_setting": switched(8),
        ])
        return """
            \\set number random(0, \(count - 1))
            \\set switches random(0, 15)
            INSERT INTO installation (\(names)) VALUES (\(values))
            ON CONFLICT (app_id, install_id) DO UPDATE
            SET (\(updated.joined(separator: ", "))) = ROW (\(updates.joined(separator: ", ")));

            """
    }

    /// Inserts a new row.
    var insert: String {
        let token = "md5('token ' || (:number)::text) || md5('more ' || (:number)::text)"
        let values = values([
            "install_id": "md5((:number)::text)::uuid::text", "token": token,
            "token_sha256": "sha256(convert_to(\(token), 'UTF8'))", "user_id": "'user-' || (:number)::text",
            "session_id": "'session-' || (:number)::text", "keychain_id": "md5('keychain ' || (:number)::text)",
            "vendor_id": "md5('vendor ' || (:number)::text)",
        ])
        return """
            \\set number random(1, 9000000000000000000)
            INSERT INTO installation (\(names)) VALUES (\(values));

            """
    }

    private var names: String { columns.map(\.name).joined(separator: ", ") }

    private func values(_ other: [String: String]) -> String {
        columns.map { other[$0.name] ?? $0.literal }.joined(separator: ", ")
    }

    private func switched(_ bit: Int) -> String {
        "CASE WHEN (:switches)::int & \(bit) = 0 THEN 'enabled' ELSE 'disabled' END::notification_setting"
    }
}
