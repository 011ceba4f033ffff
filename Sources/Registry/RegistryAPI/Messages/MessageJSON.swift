import PushRegistry
import StrictJSON

extension JSONWriter {
    /// Writes the members that a client has set, and the times.
    package mutating func about(_ message: Message) {
        member("message", message.name.rawValue)
        member("title", message.content.title)
        name("labels")
        object { writer in
            for label in message.content.labels {
                writer.name(label.name)
                writer.string(label.value)
            }
        }
        member("record", message.content.isRecorded)
        member("segments", message.segments.map(\.rawValue))
        member("createdAt", message.createdAt.description)
        member("expiresAt", message.expiresAt.description)
    }

    package mutating func members(_ counts: MessageCounts) {
        member("targeted", counts.targeted)
        member("accepted", counts.accepted)
        member("failed", counts.failed)
        member("delivered", counts.delivered)
        member("opened", counts.opened)
        member("dismissed", counts.dismissed)
    }
}
