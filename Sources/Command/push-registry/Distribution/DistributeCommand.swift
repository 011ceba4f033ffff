import ArgumentParser
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore

struct DistributeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distribute", abstract: "Spread the apps over the nodes of a Citus cluster.",
        usage: "push-registry distribute [--shards <shards>] [--dry-run] [<options>]",
        discussion: """
            Use it if one machine cannot hold the registry. The database must have the extension Citus and at least \
            one node for shards. All rows of an app are on one node; `apps move` moves an app to another node.

            Migrate the database and stop the services first: the command copies the rows of each table to shards, \
            and no program may write meanwhile. Run it again if it was interrupted. It cannot be undone, so back up \
            the database before.

            The page Distribution of the documentation describes when you need it, and how to operate a cluster.
            """)

    @OptionGroup var common: CommonOptions
    @Option(help: "The number of shards of each table. An app is in one of them.") var shards = 32
    @Flag(help: "Only print the changes that the command would make.") var dryRun = false
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...1_024).contains(shards) else { throw ValidationError("--shards must be from 1 to 1024.") }
    }

    func run() async throws {
        // With --dry-run, the schema may be older: then it shows whether an upgrade adds tables.
        try await Database.withAttached(common.settings(), isQuiet: json, checksSchema: !dryRun) { database in
            do {
                try await distribute(database)
            } catch let error as DistributionError {
                throw refusal("\(error)")
            }
        }
    }

    private func distribute(_ database: Database) async throws {
        let distribution = Distribution(try database.configuration)
        var plan = try await distribution.plan(shards: shards)
        if dryRun { return try show(plan) }
        try await distribution.distribute(plan) { [json] step in if !json { print(step) } }
        if plan.isDone { return try show(plan) }
        plan.isDone = true
        if json { return try printJSON(plan) }
        print(plan.tables.isEmpty ? "done" : "done: start the services again")
    }

    private func show(_ plan: Distribution.Plan) throws {
        if json { return try printJSON(plan) }
        print("Citus \(plan.citus), nodes for shards: \(plan.nodes.joined(separator: ", "))")
        guard !plan.isDone else { return print("all tables are distributed") }
        for node in plan.compilingNodes { print("would turn off jit in the database on \(node)") }
        for table in plan.localCopies { print("would delete the coordinator's copy of \(table)") }
        for table in plan.referenceTables { print("would copy \(table) to every node") }
        for table in plan.tables { print("would distribute \(table) over \(plan.shards) shards") }
        if plan.sessions > 0 { print("services are connected (\(plan.sessions) sessions): stop them first") }
    }
}

extension AppsCommand {
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move an app to another node of a Citus cluster.",
            usage: "push-registry apps move <app> [<node>] [--json] [<options>]",
            discussion: """
                If the app shares its shards with other apps, it first gets shards of its own. Then the command copies \
                the shards to the node. The app is served meanwhile; its writes wait for some seconds at the end of \
                each step. Run the command again if it was interrupted. Without a node, it prints where the app is.

                  push-registry apps move com.example.mail worker-2:5432
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: ArgumentHelp("The node, as `distribute --dry-run` prints it.", valueName: "node")) var node:
            String?
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let location = try await Database.withAttached(common.settings(), isQuiet: json) { database in
                let found = try await database.withDirectory { try await $0.current().app(app) }
                do {
                    return try await move(found.number, Distribution(try database.configuration))
                } catch let error as DistributionError {
                    throw refusal("\(error)")
                }
            }
            if json {
                try printJSON(location)
            } else {
                print("\(app) is on \(location.node), in shard \(location.shard)")
            }
        }

        private func move(_ app: AppNumber, _ distribution: Distribution) async throws -> Distribution.Location {
            guard let node else { return try await distribution.location(of: app) }
            return try await distribution.move(app, to: node) { [json] step in if !json { print(step) } }
        }
    }
}
