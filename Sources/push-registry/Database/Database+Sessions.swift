import PostgresClient
import RegistryStore

// The settings of the database sessions, by purpose.
extension Database {
    var configuration: PostgresConfiguration {
        get throws { try PostgresConfiguration(connectionString) }
    }

    /// The sessions of the service. Its statements are written for index look-ups of many keys, so other plans are
    /// disabled, whatever the statistics say. No statement may hold locks longer than a request lasts.
    func serviceConfiguration() async throws -> PostgresConfiguration {
        var settings = [
            "jit": "off", "statement_timeout": "10s",
            // A batch must not wait longer for a lock: all its items wait.
            "lock_timeout": "100ms",
            "idle_in_transaction_session_timeout": "15s",
        ]
        guard try await Distribution.exists(in: configuration) else {
            settings["plan_cache_mode"] = "force_generic_plan"
            for method in ["seqscan", "hashjoin", "mergejoin"] { settings["enable_\(method)"] = "off" }
            return try PostgresConfiguration(connectionString, settings: settings)
        }
        // Citus finds the shard by the values of a statement.
        settings["plan_cache_mode"] = "auto"
        settings["citus.propagate_set_commands"] = "local"
        return try PostgresConfiguration(
            connectionString, settings: settings, transactionSettings: ["SET LOCAL lock_timeout = '100ms'"])
    }

    /// The sessions of audience queries. Filters vary, so the planner is free to choose.
    func audienceConfiguration(_ settings: AudienceSettings) throws -> PostgresConfiguration {
        try PostgresConfiguration(
            settings.readDatabaseURL ?? connectionString, applicationName: "push-registry audiences",
            settings: settings.limits.sessionSettings)
    }

    /// The timeout of one statement of the folding session.
    static let foldingTimeout = Duration.seconds(30)

    /// The session that folds the deltas of the roll-up.
    var foldingConfiguration: PostgresConfiguration {
        get throws {
            try PostgresConfiguration(
                connectionString,
                settings: ["jit": "off", "statement_timeout": "\(Self.foldingTimeout.components.seconds)s"])
        }
    }

    /// The session that reads the gauges.
    var gaugeConfiguration: PostgresConfiguration {
        get throws {
            try PostgresConfiguration(
                connectionString, applicationName: "push-registry gauges",
                settings: ["jit": "off", "statement_timeout": "10s"])
        }
    }
}
