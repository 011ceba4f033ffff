import ArgumentParser
import Logging
import PostgresClient
import PushRegistry
import RegistryJobs

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
        let settings = try await common.settings()
        let logger = ProcessLogging.start(settings)
        // With --dry-run, the schema may be older: then it shows whether an upgrade adds tables.
        try await Database.withAttached(
            settings, isQuiet: json, checksSchema: !dryRun, logger: logger
        ) { database in
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
