import PostgresClient
import PushRegistry

/// Decodes the columns of a row one after another.
struct ColumnReader {
    private let row: PostgresRow
    private var column: Int

    init(_ row: PostgresRow, from column: Int = 0) {
        self.row = row
        self.column = column
    }

    mutating func next<Value: PostgresDecodable>(_ type: Value.Type = Value.self) throws -> Value {
        defer { column += 1 }
        return try row.decode(column)
    }

    /// A value of an SQL enum that this binary knows. A newer migration may have added another.
    mutating func nextLabel<Label: RawRepresentable<String>>() throws -> Label {
        let text = try next(String.self)
        guard let label = Label(rawValue: text) else { throw StoreError.failed("unknown label \(text)") }
        return label
    }

    mutating func nextChoices() throws -> TopicChoices {
        TopicChoices(codes: try next([Int32]?.self) ?? [])
    }

    mutating func nextTimestamp() throws -> Timestamp {
        Timestamp(try next(PostgresTimestamp.self))
    }
}

extension TopicChoices {
    /// As a column of choices holds them: NULL for none.
    package var stored: [Int32]? { isEmpty ? nil : codes }

    /// The text that PostgreSQL reads `stored` from.
    var literal: String? { stored.map { "{" + $0.map(String.init).joined(separator: ",") + "}" } }
}

extension Timestamp {
    package init(_ timestamp: PostgresTimestamp) {
        self.init(microseconds: timestamp.microsecondsSince1970)
    }

    package var postgres: PostgresTimestamp {
        PostgresTimestamp(microsecondsSince1970: microseconds)
    }
}
