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

    /// One event, as history and feed show it (fine print 26).
    mutating func event(_ event: RecordedEvent) {
        object { writer in
            writer.member("cursor", event.cursor.description)
            writer.member("at", event.at.description)
            writer.member("event", event.kind)
            writer.member("reason", event.reason)
            writer.member("actor", event.actor)
            writer.member("installId", event.installID)
            writer.member("provider", event.provider)
            writer.member("tokenSha256", event.tokenSHA256.map(hexadecimal))
            writer.member("userId", event.userID)
            writer.member("previousUserId", event.previousUserID)
            writer.member("state", event.state)
            writer.member("generationBefore", event.generationBefore)
            writer.member("generationAfter", event.generationAfter)
        }
    }
}

/// Two lower-case digits a byte.
private func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
