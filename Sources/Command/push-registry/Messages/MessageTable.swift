import PushRegistry
import Telemetry

/// The counts of a message as a table in text.
struct MessageTable {
    private let message: Message
    private let counts: MessageCounts
    private let asOf: Timestamp

    init(_ message: Message, _ counts: MessageCounts, asOf: Timestamp) {
        (self.message, self.counts, self.asOf) = (message, counts, asOf)
    }

    var text: String {
        let title = message.content.title.map { "  \($0.escapedForTerminal)" } ?? ""
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

extension TextTable {
    init(_ messages: [Message]) {
        self.init(
            header: ["message", "title", "created", "expires"],
            rows: messages.map { message in
                [
                    message.name.rawValue, message.content.title ?? "", message.createdAt.description,
                    message.expiresAt.description,
                ]
            })
    }
}
