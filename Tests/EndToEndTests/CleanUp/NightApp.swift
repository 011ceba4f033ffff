import EmbeddedPostgres
import Glibc
import PostgresClient
import RegistryTestSupport
import Testing

/// An app that the real command cleans up. SQL makes its installations older.
struct NightApp {
    let registry: RegistryApp

    static func make(policy: JSON = [:]) async throws -> NightApp {
        NightApp(registry: try await RegistryApp.make(policy: policy))
    }

    func register(
        _ installID: String, provider: String = "apns", keychain: String? = nil, as user: String = "alice",
        session: String? = nil
    ) async throws {
        var body = SampleRegistration.make(installID, provider: provider)
        if let keychain {
            body["device"]["keychainId"] = .string(keychain)
            body["device"]["vendorId"] = .null
        }
        let response = try await registry.put(installID, body, as: user, session: session)
        guard [200, 201].contains(response.status) else { throw UnexpectedResponse(response: response) }
    }

    /// Makes an installation older by an interval of PostgreSQL.
    func age(_ installID: String, by time: String) async throws { try await registry.age(installID, by: time) }

    func suspect(_ installID: String) async throws {
        let response = try await registry.send(
            "POST", "/feedback", [["installId": .string(installID), "reason": "BadDeviceToken"]])
        try #require(response.json["suspect"] == 1)
    }

    /// Makes all tombstones older.
    func passTombstones() async throws {
        for (table, columns) in [
            ("session", ["recorded_at", "ended_at"]), ("user_guard", ["refused_before"]),
            ("installation_logout", ["logged_out_at"]), ("installation_owner", ["left_at"]),
        ] {
            for column in columns {
                _ = try await registry.database.rows(
                    """
                    UPDATE \(identifier: table) SET \(identifier: column) = \(sql: .earlier(column, by: "401 days"))
                    WHERE app_id = (SELECT id FROM app WHERE identifier = \(registry.id))
                    """)
            }
        }
    }

    /// Adds a month of events that is older than the retention of history.
    func makePartitionOf2020() async throws {
        _ = try await registry.database.rows(
            """
            CREATE TABLE token_event_2020_01 PARTITION OF token_event
            FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-02-01 00:00:00+00')
            """)
    }

    func state(_ installID: String) async throws -> String? {
        try await registry.get(installID).json["state"].string
    }

    /// Starts the job where another transaction keeps a row of its only batch locked, until its waiting for that row
    /// was seen. The job waits for a few seconds at most and leaves the row for the next night, so on a busy machine
    /// it may end before that: then it is started again.
    func waitingCleanUp() async throws -> RegistryCommand {
        let url = try Registry.shared.cluster.connectionString
        var command = RegistryCommand?.none
        do {
            try await eventually("the run waits") {
                if let command, command.isRunning { return try await isCleanUpWaiting() }
                if let command { #expect(try await command.exitStatus() == 0, "\(command.log)") }
                command = try RegistryCommand(
                    ["cleanup", "--max-share", "100%"], environment: ["PUSH_REGISTRY_DATABASE_URL": url])
                return false
            }
            return try #require(command)
        } catch {
            command?.send(SIGKILL)
            throw error
        }
    }

    /// Whether a statement of the job waits for a lock. On Citus, the session of a worker waits.
    private func isCleanUpWaiting() async throws -> Bool {
        let waits: PostgresStatement =
            CitusCluster.isWanted
            ? """
            SELECT count(*) FROM citus_lock_waits w JOIN citus_stat_activity a ON a.global_pid = w.waiting_gpid
            WHERE a.application_name = 'push-registry cleanup'
            """
            : """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'push-registry cleanup' AND wait_event_type = 'Lock'
            """
        return try await registry.database.count(waits) > 0
    }

    /// Runs the job; by default without a limit of the breaker.
    @discardableResult
    func cleanUp(_ arguments: [String] = ["--max-share", "100%"]) async throws -> (status: Int32, report: JSON) {
        try await run(["cleanup", "--json"] + arguments)
    }

    func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (status: Int32, report: JSON) {
        let result = try await registry.registry.run(arguments, environment: environment)
        return (result.status, (try? JSON(parsing: Array(result.output.utf8))) ?? .null)
    }

    /// This app's part of a report.
    func part(of report: JSON) -> JSON {
        report["apps"].array.first { $0["app"].string == registry.id } ?? .null
    }
}
