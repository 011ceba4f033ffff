import Basics
import PushRegistry
import StrictJSON

extension JSONWriter {
    /// `{events: […], next}`.
    init(_ page: EventPage) {
        self.init(capacity: 512 * (page.events.count + 1))
        object { writer in
            writer.name("events")
            writer.array { writer in
                for event in page.events { writer.event(event) }
            }
            writer.member("next", page.next?.description)
        }
    }

    /// An event in the history and in the feed (fine print 26).
    mutating func event(_ event: RecordedEvent) {
        object { writer in
            writer.member("cursor", event.cursor.description)
            writer.member("at", event.at.description)
            writer.member("event", event.kind)
            writer.member("reason", event.reason)
            writer.member("actor", event.actor)
            writer.member("installId", event.installID)
            writer.member("provider", event.provider)
            writer.member("tokenSha256", event.tokenSHA256.map { String(hex: $0) })
            writer.member("userId", event.userID)
            writer.member("previousUserId", event.previousUserID)
            writer.member("state", event.state)
            writer.member("generationBefore", event.generationBefore)
            writer.member("generationAfter", event.generationAfter)
            if let topics = event.topics { writer.member("topics", topics) }
        }
    }
}
