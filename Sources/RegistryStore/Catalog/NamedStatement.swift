import Foundation
import PostgresClient
import PushRegistry

/// A statement of the store with its name and its purpose, as `push-registry sql` prints it.
public struct NamedStatement: Sendable {
    /// Its name in the source: `lookUp`.
    public let name: String
    /// The caller of the statement (an endpoint, a job or a command), its rule, and its effect.
    public let purpose: String
    /// The text that PostgreSQL gets, with placeholders.
    public let sql: String
    /// As Citus gets it, if that is another text.
    public let sqlOnCitus: String?
    /// As Citus gets it for one row. Several have as many groups of values, up to `InsertedValues.rowsMax`.
    public let sqlOfOneRowOnCitus: String?
    /// The file that declares it, `RegistryStore/RegistrationStatements.swift`.
    public let file: String
    /// Of the placeholders; empty if PostgreSQL infers them.
    let types: [PostgresType]

    /// - Parameter prepared: with a purpose, in which `…/` stands for `/v1/apps/{app}/`.
    init(_ name: String, _ prepared: PreparedSQL, file: StaticString = #fileID) {
        self.init(
            name, prepared.purpose ?? "", prepared.text, onCitus: prepared.distributedText,
            prepared.values?.textOfOneRow, types: [], file)
    }

    /// A statement that is composed when it is executed.
    ///
    /// - Parameter statement: with any values.
    init(_ name: String, serving purpose: String, _ statement: PostgresStatement, file: StaticString = #fileID) {
        self.init(name, purpose, statement.text, types: statement.parameterTypes, file)
    }

    /// - Parameter script: settings, several in one text.
    init(_ name: String, serving purpose: String, script: String, file: StaticString = #fileID) {
        self.init(name, purpose, script, types: [], file)
    }

    private init(
        _ name: String, _ purpose: String, _ sql: String, onCitus sqlOnCitus: String? = nil,
        _ sqlOfOneRowOnCitus: String? = nil, types: [PostgresType], _ file: StaticString
    ) {
        self.name = name
        self.purpose = purpose.replacing("…/", with: "/v1/apps/{app}/")
        self.sql = String(sql.drop(while: \.isWhitespace))
        self.sqlOnCitus = sqlOnCitus.map { String($0.drop(while: \.isWhitespace)) }
        self.sqlOfOneRowOnCitus = sqlOfOneRowOnCitus.map { $0.trimmingCharacters(in: .whitespaces) }
        self.file = file.description
        self.types = types
    }

    /// PostgreSQL plans queries and changes of rows. Other commands have no plan.
    var isPlannable: Bool {
        let verb = sql.prefix { $0.isLetter }
        return ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE"].contains(verb)
    }

    // MARK: Values for statements that are composed

    /// Stand for any value, since a list shows placeholders.
    static let app = AppNumber(0)
    static let time = PostgresTimestamp(microsecondsSince1970: 0)
    static let pages = PageRange(pages: 0..<1)
}

/// Statements that belong together.
public struct StatementTopic: Sendable {
    /// The sessions that execute the statements of a topic.
    public enum Sessions: Sendable {
        /// A service's, whose settings prefer indexes.
        case service
        /// With the settings of the database: jobs, commands and the reading of audiences.
        case ordinary
    }

    /// A word for the command line: `registration`.
    public let name: String
    public let summary: String
    public let sessions: Sessions
    public let statements: [NamedStatement]

    init(
        _ name: String, _ summary: String, _ lists: [[NamedStatement]], sessions: Sessions = .service
    ) {
        self.name = name
        self.summary = summary
        self.sessions = sessions
        statements = lists.flatMap(\.self)
    }

    /// The statements whose names contain a word; nil if there are none.
    ///
    /// - Parameter word: `registration.lookUp` or a part of it, in any case.
    public func filtered(by word: String) -> StatementTopic? {
        let found = statements.filter { "\(name).\($0.name)".lowercased().contains(word.lowercased()) }
        return found.isEmpty ? nil : StatementTopic(name, summary, [found], sessions: sessions)
    }
}
