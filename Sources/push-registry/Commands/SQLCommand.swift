import ArgumentParser
import RegistryStore

struct SQLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sql",
        abstract: "Print the SQL behind every endpoint and job.",
        usage: "push-registry sql [<name>] [--plan] [--json] [<options>]",
        discussion: """
            For each statement, it prints the name, the endpoint or job that executes it with its rule, and the text \
            that PostgreSQL gets; $1, $2, … are the values. The output is an SQL file: everything else is a comment. \
            The name leads to the source: registration.lookUp is lookUp in the file next to the topic. Statements of \
            audiences depend on the filter; the command prints examples.

            With a NAME, it prints one topic, or the statements whose names contain it:
              push-registry sql registration
              push-registry sql registration.lookUp
              push-registry sql lock

            With --plan, it prints PostgreSQL's generic plan of each statement, with the settings of its sessions. It \
            executes no statement and changes nothing. Plans depend on the size of the database.
            """)

    @OptionGroup var common: CommonOptions
    @Argument(help: "A topic, or a part of a statement's name (default: everything).") var name: String?
    @Flag(help: "Print the generic plan of each statement; requires the database.") var plan = false
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let topics = try topics()
        let plans = plan ? try await plans(of: topics) : nil
        let listings = topics.indices.map { TopicListing(topics[$0], plans?[$0]) }
        if json { try printJSON(listings) } else { print(listings.map(\.text).joined(separator: "\n")) }
    }

    private func topics() throws -> [StatementTopic] {
        guard let name else { return StatementCatalog.topics }
        if let topic = StatementCatalog.topics.first(where: { $0.name == name }) { return [topic] }
        let found = StatementCatalog.topics.compactMap { $0.filtered(by: name) }
        guard found.isEmpty else { return found }
        let names = StatementCatalog.topics.map(\.name).joined(separator: ", ")
        throw refusal("No statement's name contains “\(name)”. The topics are \(names).")
    }

    private func plans(of topics: [StatementTopic]) async throws -> [[StatementPlanner.Plan]] {
        let settings = try await common.settings()
        let logger = ProcessLogging.start(settings)
        return try await Database.withAttached(settings, isQuiet: json, logger: logger) { database in
            let planner = StatementPlanner(
                service: try await database.serviceSessions().registrations, ordinary: try database.configuration)
            var plans: [[StatementPlanner.Plan]] = []
            for topic in topics { plans.append(try await planner.plans(of: topic)) }
            return plans
        }
    }
}

/// A topic in the output.
private struct TopicListing: Encodable {
    struct Statement: Encodable {
        let name: String
        let serves: String
        let file: String
        let sql: String
        /// If it is another text.
        let sqlOnCitus: String?
        /// Of an INSERT that names few rows as VALUES there.
        let sqlOfOneRowOnCitus: String?
        /// With `--plan`.
        let plan: [String]?
    }

    let topic: String
    let summary: String
    let statements: [Statement]

    init(_ topic: StatementTopic, _ plans: [StatementPlanner.Plan]?) {
        self.topic = topic.name
        summary = topic.summary
        statements = topic.statements.enumerated().map { index, statement in
            Statement(
                name: "\(topic.name).\(statement.name)", serves: statement.purpose, file: statement.file,
                sql: statement.sql, sqlOnCitus: statement.sqlOnCitus,
                sqlOfOneRowOnCitus: statement.sqlOfOneRowOnCitus, plan: plans?[index].lines)
        }
    }

    var text: String {
        let files = Set(statements.map(\.file)).sorted().joined(separator: ", ")
        let heading = "-- ==== \(topic): \(summary) (\(files))\n"
        return ([heading] + statements.map(\.text)).joined(separator: "\n")
    }
}

extension TopicListing.Statement {
    var text: String {
        let comments = ["-- \(name)", "-- \(serves)"]
        let texts = [("On Citus:", sqlOnCitus), ("On Citus, for one row (and so on for several):", sqlOfOneRowOnCitus)]
        let onCitus = texts.flatMap { title, sql in
            sql.map { [title] + $0.split(separator: "\n").map { "    \($0)" } } ?? []
        }
        let planned = (plan ?? []).map { "    \($0)" }
        let notes = (onCitus + planned).map { "-- \($0)" }
        return (comments + ["\(sql);"] + notes).joined(separator: "\n") + "\n"
    }
}

extension StatementPlanner.Plan {
    fileprivate var lines: [String] {
        switch self {
        case .lines(let lines): lines
        case .none: ["no plan: PostgreSQL only plans queries, INSERT, UPDATE and DELETE"]
        case .refused(let error): ["no plan: \(error)"]
        }
    }
}
