public import PostgresClient
public import PushRegistry

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

    /// `p256dh` and `auth`.
    mutating func nextKeys() throws -> WebPushKeys? {
        let (p256dh, auth) = (try next(String?.self), try next(String?.self))
        guard let p256dh, let auth else { return nil }
        return try WebPushKeys(p256dh: p256dh, auth: auth)
    }

    /// `user_id`, `session_id` and `session_expires_at`.
    mutating func nextOwner() throws -> Owner? {
        let userID = try next(String?.self).map { try UserID($0) }
        let sessionID = try next(String?.self).map { try SessionID($0) }
        let expiresAt: Timestamp? = try next()
        return userID.map { userID in
            Owner(userID: userID, session: sessionID.map { Owner.Session(id: $0, expiresAt: expiresAt) })
        }
    }
}

extension TopicChoices {
    /// As a column of choices holds them: NULL for none.
    package var stored: [Int32]? { isEmpty ? nil : codes }

    /// The text that PostgreSQL reads `stored` from.
    var literal: String? { stored.map { "{" + $0.map(String.init).joined(separator: ",") + "}" } }
}

extension Timestamp: PostgresDecodable {
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Timestamp? {
        PostgresTimestamp.decode(bytes, type: type).map(Timestamp.init)
    }

    package init(_ timestamp: PostgresTimestamp) {
        self.init(microseconds: timestamp.microsecondsSince1970)
    }

    package var postgres: PostgresTimestamp {
        PostgresTimestamp(microsecondsSince1970: microseconds)
    }
}
