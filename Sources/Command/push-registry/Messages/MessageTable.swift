import PushRegistry

/// The counts of a message as a table in text.
struct MessageTable {
    private let message: Message
    private let counts: MessageCounts
    private let asOf: Timestamp

    init(_ message: Message, _ counts: MessageCounts, asOf: Timestamp) {
        (self.message, self.counts, self.asOf) = (message, counts, asOf)
    }

    var text: String {
        let title = message.content.title.map { "  \($0)" } ?? ""
        let rows = [
            ("targeted", counts.targeted), ("accepted", counts.accepted), ("failed", counts.failed),
            ("delivered", counts.delivered), ("opened", counts.opened), ("dismissed", counts.dismissed),
        ].map { name, count in [name, "\(count)", share(count)] }
        return """
            \(message.name)\(title)
            created \(message.createdAt), expires \(message.expiresAt)

            \(TextTable(header: ["what", "count", "of targeted"], rows: rows).text)

            as of \(asOf)
            """
    }

    private func share(_ count: Int64) -> String {
        guard counts.targeted > 0 else { return "" }
        let permille = Int((Double(count) / Double(counts.targeted) * 1_000).rounded())
        return "\(permille / 10).\(permille % 10) %"
    }
}

/// One message of the list.
struct MessageLine: Encodable {
    let message: String
    let title: String?
    let record: Bool
    let createdAt: String
    let expiresAt: String

    init(_ message: Message) {
        self.message = message.name.rawValue
        title = message.content.title
        record = message.content.isRecorded
        createdAt = message.createdAt.description
        expiresAt = message.expiresAt.description
    }

    static func table(_ messages: [Message]) -> String {
        let rows = messages.map(MessageLine.init).map { [$0.message, $0.title ?? "", $0.createdAt, $0.expiresAt] }
        return TextTable(header: ["message", "title", "created", "expires"], rows: rows).text
    }
}

/// A message with its counts, as in the API.
struct CountedMessageJSON: Encodable {
    let message: String
    let title: String?
    let labels: [String: String]
    let record: Bool
    let createdAt, expiresAt, asOf: String
    let targeted, accepted, failed, delivered, opened, dismissed: Int64

    init(_ message: Message, _ counts: MessageCounts, asOf: Timestamp) {
        self.message = message.name.rawValue
        title = message.content.title
        labels = Dictionary(message.content.labels.map { ($0.name, $0.value) }) { $1 }
        record = message.content.isRecorded
        createdAt = message.createdAt.description
        expiresAt = message.expiresAt.description
        self.asOf = asOf.description
        (targeted, accepted, failed) = (counts.targeted, counts.accepted, counts.failed)
        (delivered, opened, dismissed) = (counts.delivered, counts.opened, counts.dismissed)
    }
}
