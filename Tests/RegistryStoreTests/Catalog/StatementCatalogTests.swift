import Foundation
import PostgresClient
import Testing

@testable import RegistryStore

@Suite("The catalog of statements is complete, and each statement is valid SQL with a plan")
struct StatementCatalogTests {
    @Test func catalog_hasEveryStatement_thatTheSourcesDeclare() throws {
        let declared = try Self.declared()
        #expect(declared.count > 150)
        let named = StatementCatalog.topics.flatMap(\.statements).map { statement in
            "\(statement.file.split(separator: "/")[1]) \(statement.name)"
        }
        let missing = declared.filter { one in !named.contains { $0 == one || $0.hasPrefix(one + ".") } }
        #expect(missing.isEmpty)
    }

    @Test func sources_executeNoSQL_thatHasNoName() throws {
        for (file, text) in try Self.sources() where text.contains(#/(?:execute\(|script:)\s*"/#) {
            Issue.record("\(file) executes a literal")
        }
    }

    @Test func statements_standInTheFileOfTheirTopic() throws {
        let files = Set(try Self.declared().map { $0.prefix { $0 != " " } })
        #expect(files.filter { !$0.hasSuffix("Statements.swift") } == [])
    }

    @Test func statement_hasAPurposeOfOneLine() {
        for topic in StatementCatalog.topics {
            for statement in topic.statements {
                let isLine = statement.purpose.count < 160 && !statement.purpose.contains("\n")
                #expect(statement.purpose.contains(": ") || statement.purpose.contains(", an example"), "\(statement)")
                #expect(isLine && statement.purpose.hasSuffix("."), "\(statement)")
            }
        }
    }

    @Test func names_areUnique() {
        let names = StatementCatalog.topics.flatMap { topic in topic.statements.map { "\(topic.name).\($0.name)" } }
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: StatementCatalog.topics.map(\.name))
    func statement_getsAGenericPlan_onAMigratedDatabase(name: String) async throws {
        let topic = try #require(StatementCatalog.topics.first { $0.name == name })
        try await TestStores.with { stores in
            let planner = StatementPlanner(service: stores.serviceConfiguration, ordinary: stores.configuration)
            let plans = try await planner.plans(of: topic)
            #expect(plans.count == topic.statements.count)
            for (statement, plan) in zip(topic.statements, plans) {
                switch plan {
                case .lines(let lines): #expect(lines.first?.contains("cost=") == true, "\(statement.name)")
                case .none: #expect(!statement.isPlannable && statement.sql.first?.isLetter == true)
                // The functions of Citus.
                case .refused(let error) where name == "distribution":
                    #expect(["42P01", "42883"].contains(error.sqlState))
                case .refused(let error): Issue.record("\(name).\(statement.name): \(error.debugDescription)")
                }
            }
        }
    }

    // MARK: Sources

    private static func sources() throws -> [(file: String, text: String)] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/RegistryStore")
        let paths = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return try (paths?.compactMap { $0 as? URL } ?? [])
            .filter { $0.pathExtension == "swift" && !$0.path.contains("/Catalog/") }
            .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    /// `File.swift name` of each statement: a constant of `PreparedSQL` or `PostgresStatement`, or a function that
    /// returns statements and whose body has SQL.
    private static func declared() throws -> [String] {
        try sources().flatMap { file, text in
            let constants = text.matches(of: constant).map { String($0.name) }
            let functions = text.matches(of: function).filter { $0.body.contains(sql) }.map { String($0.name) }
            return (constants + functions).map { name in
                "\(file) \(name.hasSuffix("SQL") ? String(name.dropLast(3)) : name)"
            }
        }
    }

    private static var constant: Regex<(Substring, name: Substring)> {
        #/static let (?<name>\w+)(?:: PostgresStatement =|\s*=\s+(?:PreparedSQL|PostgresStatement)\()/#
    }

    private static var function: Regex<(Substring, name: Substring, body: Substring)> {
        #/
        \n\ {4} (?:static\ )? func\ (?<name>\w+) \( [^{]*? ->\ (?:PostgresStatement|\[PostgresSQL\])\ \{
        (?<body>.*?) \n (?:\ {4}\} | \n)
        /#.dotMatchesNewlines()
    }

    private static var sql: Regex<Substring> {
        #/"\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE|ALTER|DROP|ANALYZE|EXPLAIN|VACUUM|SET|COPY|TRUNCATE|CREATE) /#
    }
}
