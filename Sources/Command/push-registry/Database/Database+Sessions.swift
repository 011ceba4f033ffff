import PostgresClient
import RegistryJobs
import RegistryStore

/// The settings of a service's sessions, which depend on whether the database is distributed.
struct ServiceSessions: Sendable {
    let isDistributed: Bool
    /// Tables that must be distributed as well.
    let missingTables: [String]
    let registrations: PostgresConfiguration
    let folding: PostgresConfiguration
}

// The settings of the database sessions, by purpose.
extension Database {
    var configuration: PostgresConfiguration {
        get throws { try PostgresConfiguration(connectionString) }
    }

    func serviceSessions() async throws -> ServiceSessions {
        let missingTables = try await Distribution.missingTables(in: configuration)
        let isDistributed = missingTables != nil
        return ServiceSessions(
            isDistributed: isDistributed, missingTables: missingTables ?? [],
            registrations: try registrationConfiguration(isDistributed: isDistributed),
            folding: try foldingConfiguration(isDistributed: isDistributed))
    }

    /// The sessions of registrations. Their statements are written for index look-ups of many keys, so other plans are
    /// disabled, whatever the statistics say. No statement may hold locks longer than a request lasts.
    private func registrationConfiguration(isDistributed: Bool) throws -> PostgresConfiguration {
        var settings = [
            "jit": "off", "statement_timeout": "10s",
            // A batch must not wait longer for a lock: all its items wait. On Citus, a statement takes longer.
            "lock_timeout": isDistributed ? "100ms" : "25ms",
            "idle_in_transaction_session_timeout": "15s",
        ]
        if isDistributed {
            // Citus finds the shard by the values of a statement.
            settings["plan_cache_mode"] = "auto"
            settings["citus.propagate_set_commands"] = "local"
        } else {
            settings["plan_cache_mode"] = "force_generic_plan"
            for method in ["seqscan", "hashjoin", "mergejoin"] { settings["enable_\(method)"] = "off" }
        }
        return try PostgresConfiguration(
            connectionString, settings: settings,
            transactionSettings: isDistributed ? ["SET LOCAL lock_timeout = '100ms'"] : [])
    }

    /// The sessions of audience queries. Filters vary, so the planner is free to choose.
    func audienceConfiguration(_ settings: AudienceSettings) throws -> PostgresConfiguration {
        try PostgresConfiguration(
            settings.readDatabaseURL ?? connectionString, applicationName: "push-registry audiences",
            settings: settings.limits.sessionSettings)
    }

    /// The timeout of one statement of the folding session.
    static let foldingTimeout = Duration.seconds(30)

    /// The session of the background work, which folds the deltas of the roll-up.
    private func foldingConfiguration(isDistributed: Bool) throws -> PostgresConfiguration {
        var settings = ["jit": "off", "statement_timeout": "\(Self.foldingTimeout.components.seconds)s"]
        if isDistributed { settings["citus.propagate_set_commands"] = "local" }
        return try PostgresConfiguration(
            connectionString, applicationName: BackgroundSession.name, settings: settings,
            transactionSettings: isDistributed ? ["SET LOCAL lock_timeout = '5s'"] : [])
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
