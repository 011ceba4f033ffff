import Foundation
import PostgresClient
import PushRegistry

/// The SQL of messages. `$1` is the app.
enum MessageStatements {
    private static let columns: PostgresSQL = """
        number, name, title, labels, extract(epoch FROM expires_at - created_at)::bigint, is_recorded, created_at,
        segments
        """

    /// GET …/messages/{message}, and calls that name a message: reads it.
    static let read = PreparedSQL(
        "SELECT \(sql: columns) FROM message WHERE app_id = $1 AND name = $2")

    /// POST …/feedback: reads the messages that verdicts name.
    static let readAll = PreparedSQL(
        "SELECT \(sql: columns) FROM message WHERE app_id = $1 AND name = ANY ($2)")

    /// GET …/messages: lists messages, the newest first.
    static let list = PreparedSQL(
        "SELECT \(sql: columns) FROM message WHERE app_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3")

    /// PUT …/messages/{message}: reads the newest number of the app.
    static let newest = PreparedSQL(
        "SELECT coalesce(max(number), 0) FROM message WHERE app_id = $1")

    static func add(_ message: Message, to app: AppNumber) -> PostgresStatement {
        addSQL(
            app.rawValue, message.number.rawValue, message.name.rawValue, message.content.title,
            message.content.labelsText, message.createdAt.postgres, message.expiresAt.postgres,
            message.content.isRecorded)
    }

    /// PUT …/messages/{message}: adds a message.
    private static let addSQL = PreparedSQL(
        """
        INSERT INTO message (
            app_id, number, name, title, labels, created_at, expires_at, receipts_until, is_recorded)
        SELECT \(sql: AppRow.app), $2, $3, $4, $5::json, $6, $7, $7, $8 FROM \(sql: AppRow.beside("(SELECT 1) AS k"))
        """)

    static func replace(_ message: Message, of app: AppNumber) -> PostgresStatement {
        replaceSQL(
            app.rawValue, message.number.rawValue, message.content.title, message.content.labelsText,
            message.expiresAt.postgres, message.content.isRecorded)
    }

    /// PUT …/messages/{message}: replaces a message's content.
    private static let replaceSQL = PreparedSQL(
        """
        UPDATE message
        SET title = $3, labels = $4::json, expires_at = $5, receipts_until = greatest(receipts_until, $5),
            is_recorded = $6
        WHERE app_id = $1 AND number = $2
        """)

    /// POST …/audience/export and installations, with a message: records up to `$4` segments of the filter.
    static let record = PreparedSQL(
        """
        UPDATE message
        SET segments = ARRAY(SELECT DISTINCT name FROM unnest(segments || $3::text[]) AS name ORDER BY name LIMIT $4)
        WHERE app_id = $1 AND number = $2 AND NOT segments @> $3::text[] AND cardinality(segments) < $4
        """)
}

extension Message {
    init(_ row: PostgresRow) throws {
        self.init(
            number: MessageNumber(try row.decode(0)), name: try MessageName(row.decode(1)),
            content: MessageContent(
                title: try row.decode(2), labels: try MessageContent.labels(try row.decode(3)),
                expiresIn: ISO8601Duration(seconds: max(0, try row.decode(4))), isRecorded: try row.decode(5)),
            createdAt: try row.decode(6),
            segments: try row.decode(7, as: [String].self).map { try SegmentName($0) })
    }
}

/// Labels in the form of the column `message.labels`: an array of pairs, because an object would lose their order.
extension MessageContent {
    var labelsText: String {
        let pairs = labels.map { [$0.name, $0.value] }
        // Encoding texts never fails.
        return (try? JSONEncoder().encode(pairs)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    static func labels(_ text: String) throws -> [Label] {
        try JSONDecoder().decode([[String]].self, from: Data(text.utf8)).compactMap { pair in
            pair.count == 2 ? Label(name: pair[0], value: pair[1]) : nil
        }
    }
}
