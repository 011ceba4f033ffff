import PostgresClient
import PushRegistry

/// What a row of the roll-up counts: the column `topic` of its tables. 0 is all installations. A small number is a
/// choice about a topic, as `TopicChoices` codes it. The lowest numbers are the kinds of typed tokens.
///
/// A layer of a kind counts the tokens that are handed out, by the cell of their installation: those that are not held,
/// of active installations. It has no count but `reachable`. A token leaves it when it or the installation's session
/// expires, whichever is first. If the kind requires the authorization, tokens in cells without it are not counted.
package enum RollUpLayer {
    static let installations: Int32 = 0

    /// Stored: a kind keeps its number.
    package static func tokens(of kind: TokenKind) -> Int32 {
        let number: Int32 =
            switch kind {
            case .liveActivityStart: 1
            case .liveActivity: 2
            case .widget: 3
            case .voip: 4
            case .location: 5
            case .complication: 6
            case .fileProvider: 7
            case .pushToTalk: 8
            }
        return .min + number
    }

    private static let ofTokens = Set(TokenKind.allCases.map(tokens))
    private static let withoutAuthorization = Set(TokenKind.allCases.filter { !$0.requiresAuthorization }.map(tokens))

    /// Whether a cell counts in a layer as reachable.
    ///
    /// - Parameter isAdmitted: `rollup_cell.is_admitted`.
    static func reaches(_ layer: Int32, isAdmitted: Bool) -> Bool {
        isAdmitted || withoutAuthorization.contains(layer)
    }
}

// MARK: - SQL

extension RollUpLayer {
    /// A condition, as `reaches(_:isAdmitted:)`: cell `c` counts in this layer as reachable.
    package static func reaches(_ layer: PostgresSQL) -> PostgresSQL {
        "(c.is_admitted OR \(sql: layer) IN (\(sql: list(withoutAuthorization))))"
    }

    /// A condition: this layer counts something in cell `c`.
    package static func has(_ layer: PostgresSQL) -> PostgresSQL {
        "(c.is_admitted OR \(sql: layer) NOT IN (\(sql: list(ofTokens.subtracting(withoutAuthorization)))))"
    }

    /// A condition: the layer is a kind's.
    package static func isOfTokens(_ layer: PostgresSQL) -> PostgresSQL { "\(sql: layer) IN (\(sql: list(ofTokens)))" }

    private static func list(_ layers: Set<Int32>) -> PostgresSQL {
        PostgresSQL(trusted: layers.sorted().map(String.init).joined(separator: ", "))
    }

    /// A FROM item, `i`: the typed tokens that are handed out, with their layer as `topic`, their cell, and when they
    /// or their session expire. Expired ones are among them. `AudienceSource` has the rule for the rows of a moment;
    /// TypedAudienceTests holds both to one oracle.
    package static let handedOut: PostgresSQL = """
        (SELECT t.app_id, t.install_id, \(sql: ofToken) AS topic, n.cell, \(sql: expiresAt("n.session_expires_at"))
            FROM typed_token t JOIN installation n ON n.app_id = t.app_id AND n.install_id = t.install_id
            WHERE NOT t.held AND n.state = 'active') AS i (app_id, install_id, topic, cell, expires_at)
        """

    /// An expression: the layer of the typed token `t`.
    static let ofToken: PostgresSQL = {
        // Citus sends `CASE t.kind WHEN …` to its nodes in a form that they do not understand.
        let cases = TokenKind.allCases.map { "WHEN t.kind = '\($0.rawValue)' THEN \(tokens(of: $0))" }
        return "CASE \(sql: PostgresSQL(trusted: cases.joined(separator: " "))) END"
    }()

    /// An expression: when the typed token `t` or the session of its installation expires.
    static func expiresAt(_ session: PostgresSQL) -> PostgresSQL { "least(\(sql: session), t.expires_at)" }
}
