public import PostgresClient
public import PushRegistry
import RegistryStore

/// The registry on Citus: all rows of an app are in shards on one node, and the apps are spread over the nodes.
public struct Distribution: Sendable {
    /// The tables with rows of apps. The shards of the others are on the same nodes as those of the first one.
    static let tables =
        [
            "installation", "token_holder", "installation_owner", "user_guard", "session", "installation_logout",
            "token_event", "settings_snapshot", "dropped_history", "rollup_text", "rollup_cell", "rollup_delta",
            "rollup_expiry", "rollup_state", "rollup_cube", "rollup_history", "message", "receipt",
            "message_delta", "message_sum", "message_minute", "notification_counter", "notification",
            "notification_dedup", "typed_token", "feedback_breaker",
        ]

    /// Tables with a copy on every node, because statements join them with an app's rows, or write them together.
    static let referenceTables = ["known_time_zone", "changed_time_zone"]

    /// The plan of `distribute`, as its JSON has it.
    public struct Plan: Sendable, Encodable {
        /// The version of the extension.
        public let citus: String
        public let nodes: [String]
        public let shards: Int
        /// The tables that are not distributed yet.
        public let tables: [String]
        public let referenceTables: [String]
        /// The distributed tables whose rows are still on the coordinator, too: an earlier run was interrupted.
        public let localCopies: [String]
        /// The nodes that still compile statements.
        public let compilingNodes: [String]
        /// Sessions of services, which must end first.
        public let sessions: Int
        /// Whether there is nothing left to do.
        public var isDone: Bool

        var changesTables: Bool { !(tables.isEmpty && referenceTables.isEmpty && localCopies.isEmpty) }
    }

    private static let servicesDeadline = Duration.seconds(3)

    private let configuration: PostgresConfiguration

    public init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// Whether apps are distributed over nodes.
    public static func exists(in configuration: PostgresConfiguration) async throws -> Bool {
        try await PostgresSession.withSession(configuration) { try exists($0) }
    }

    static func exists(_ session: PostgresSession) throws -> Bool {
        guard try !session.execute(DistributionStatements.isInstalled()).isEmpty else { return false }
        return try session.execute(DistributionStatements.isDistributed)[0].decode(0)
    }

    /// The listed tables that are not distributed; nil if the apps are not. They stay on the coordinator if a migration
    /// creates them after `distribute`.
    public static func missingTables(in configuration: PostgresConfiguration) async throws -> [String]? {
        try await PostgresSession.withSession(configuration) { session in
            try exists(session) ? missing(of: tables + referenceTables, session) : nil
        }
    }

    private static func missing(of tables: [String], _ session: PostgresSession) throws -> [String] {
        let present = Set(try session.execute(DistributionStatements.tables).map { try $0.decode(0, as: String.self) })
        return tables.filter { !present.contains($0) }
    }

    /// - Throws: `DistributionError`, `PostgresError`.
    public func plan(shards: Int) async throws -> Plan {
        try await PostgresSession.withSession(configuration) { try Self.plan(shards: shards, $0) }
    }

    private static func plan(shards: Int, _ session: PostgresSession) throws -> Plan {
        guard let row = try session.execute(DistributionStatements.isInstalled()).first else {
            throw DistributionError.noExtension
        }
        let nodes = try Self.nodes(session)
        guard !nodes.isEmpty else { throw DistributionError.noNodes }
        var plan = Plan(
            citus: try row.decode(0), nodes: nodes.map(\.text), shards: shards,
            tables: try missing(of: tables, session), referenceTables: try missing(of: referenceTables, session),
            localCopies: try session.execute(DistributionStatements.localCopies.unprepared())
                .map { try $0.decode(0) }.filter { (tables + referenceTables).contains($0) },
            compilingNodes: try Self.nodes(session.execute(DistributionStatements.compilingNodes())).map(\.text),
            sessions: try session.execute(DistributionStatements.sessions())[0].decode(0),
            isDone: false)
        plan.isDone = !plan.changesTables && plan.compilingNodes.isEmpty
        return plan
    }

    /// Distributes the tables that are not distributed yet, one after the other. A second run continues: a distributed
    /// table may still have its rows on the coordinator, and apps may lack the rows that inserts read.
    ///
    /// - Parameter progress: called before each step.
    public func distribute(_ plan: Plan, progress: @escaping @Sendable (_ step: String) -> Void) async throws {
        try await PostgresSession.withSession(configuration) { session in
            if !plan.compilingNodes.isEmpty { try Self.stopCompiling(session) }
            if plan.changesTables { try Self.waitForServices(session) }
            for table in plan.localCopies {
                progress("deleting the coordinator's copy of \(table)")
                _ = try session.execute(DistributionStatements.truncateLocal(table))
            }
            for table in plan.referenceTables {
                progress("copying \(table) to every node")
                _ = try session.execute(DistributionStatements.refer(table))
                _ = try session.execute(DistributionStatements.truncateLocal(table))
            }
            for table in plan.tables {
                try session.checkCancellation()
                progress("distributing \(table)")
                let first = Self.tables[0]
                let distribute = DistributionStatements.distribute(
                    table, shards: Int32(plan.shards), beside: table == first ? nil : first)
                _ = try session.execute(distribute.unprepared())
                _ = try session.execute(DistributionStatements.truncateLocal(table))
            }
            // Inserts read it (`AppRow`).
            for row in try session.execute(RollUpStatements.allApps) {
                _ = try session.execute(RollUpStatements.addState(AppNumber(try row.decode(0))))
            }
        }
    }

    /// A session that was closed a moment ago may still be listed.
    private static func waitForServices(_ session: PostgresSession) throws {
        let deadline = ContinuousClock.now + servicesDeadline
        while true {
            let count: Int = try session.execute(DistributionStatements.sessions())[0].decode(0)
            if count == 0 { return }
            guard ContinuousClock.now < deadline else { throw DistributionError.servicesRun(count) }
            try session.pause(for: .milliseconds(50))
        }
    }

    private static func stopCompiling(_ session: PostgresSession) throws {
        let row = try session.execute(DistributionStatements.stopCompiling())[0]
        guard try row.decode(0) else { throw DistributionError.jitStays(reason: try row.decode(1)) }
    }

    private static func nodes(_ session: PostgresSession) throws -> [DistributionStatements.Node] {
        try nodes(session.execute(DistributionStatements.nodes.unprepared()))
    }

    private static func nodes(_ rows: PostgresResult) throws -> [DistributionStatements.Node] {
        try rows.map { DistributionStatements.Node(name: try $0.decode(0), port: try $0.decode(1)) }
    }
}

// MARK: - Moving apps

extension Distribution {
    /// Where an app's rows are.
    public struct Location: Sendable, Encodable {
        public let node: String
        public let shard: Int64
        /// Whether no other app can be in this shard.
        public let isAlone: Bool
    }

    public func location(of app: AppNumber) async throws -> Location {
        try await PostgresSession.withSession(configuration) { try Self.location(of: app, $0).location }
    }

    /// Moves an app's rows to another node, into shards of their own. Reads and writes continue meanwhile. Writes wait
    /// for some seconds while the app gets shards of its own, and at the end of the move.
    ///
    /// - Parameter node: as `NAME:PORT`.
    /// - Returns: where it is now.
    /// - Throws: `DistributionError`, `PostgresError`.
    public func move(
        _ app: AppNumber, to node: String, progress: @escaping @Sendable (_ step: String) -> Void
    ) async throws -> Location {
        try await PostgresSession.withSession(configuration) { session in
            let nodes = try Self.nodes(session)
            guard let target = nodes.first(where: { $0.text == node }) else {
                throw DistributionError.unknownNode(node, known: nodes.map(\.text))
            }
            var found = try Self.location(of: app, session)
            guard found.node != target else { return found.location }
            if !found.location.isAlone {
                progress("giving the app shards of its own")
                _ = try session.execute(DistributionStatements.isolate(app).unprepared())
                found = try Self.location(of: app, session)
            }
            progress("moving shard \(found.location.shard) from \(found.location.node) to \(node)")
            let move = DistributionStatements.move(shard: found.location.shard, from: found.node, to: target)
            _ = try session.execute(move.unprepared())
            return try Self.location(of: app, session).location
        }
    }

    private static func location(
        of app: AppNumber, _ session: PostgresSession
    ) throws -> (location: Location, node: DistributionStatements.Node) {
        guard try exists(session) else { throw DistributionError.notDistributed }
        let row = try session.execute(DistributionStatements.location(of: app).unprepared())[0]
        let node = DistributionStatements.Node(name: try row.decode(1), port: try row.decode(2))
        return (Location(node: node.text, shard: try row.decode(0), isAlone: try row.decode(3)), node)
    }
}

/// Why apps cannot be distributed or moved. The description says what to do.
public enum DistributionError: Error, Sendable, CustomStringConvertible {
    case noExtension
    case noNodes
    case notDistributed
    case servicesRun(Int)
    case unknownNode(String, known: [String])
    case jitStays(reason: String)

    public var description: String {
        switch self {
        case .noExtension:
            "the database lacks the extension Citus. Install it on every node and execute CREATE EXTENSION citus"
        case .noNodes:
            "Citus has no node that takes shards. Add one: SELECT citus_add_node('worker', 5432)"
        case .notDistributed: "the tables are not distributed. Execute push-registry distribute first"
        case .servicesRun(let sessions):
            "services are connected (\(sessions) sessions). Stop them first: their sessions are set up for one node"
        case .unknownNode(let node, let known):
            "there is no node \(node). The nodes are \(known.joined(separator: ", "))"
        case .jitStays(let reason):
            "jit could not be turned off (\(reason)). Execute ALTER DATABASE … SET jit = off as the database's owner"
        }
    }
}
