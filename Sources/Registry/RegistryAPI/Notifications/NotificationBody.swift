import PushRegistry
import StrictJSON

/// The body of `POST /v1/apps/{app}/notifications`.
struct NotificationBody {
    let addressee: NotificationPost.Addressee
    /// The sender's JSON, byte for byte.
    let payload: String
    let timeToLive: ISO8601Duration
    let collapseID: String?
    let dedupID: String?
    let message: MessageReference?
    let topic: Topic?

    private static let members: [StaticString] = [
        "to", "payload", "ttl", "collapseId", "dedupId", "message", "topic",
    ]

    /// - Throws: every fault of the body.
    static func parse(_ body: [UInt8], topics: TopicCatalogue) throws -> NotificationBody {
        try JSONObject.read(body, members: members) { root in
            let addressee = root.object("to", .required)?.addressee()
            let payload = root.payload()
            let timeToLive = root.timeToLive() ?? NotificationPost.standardTimeToLive
            let (collapseID, dedupID) = (root.name("collapseId"), root.name("dedupId"))
            let message = root.value("message")?.text().map { MessageReference($0) }
            let topic = root.topic(in: topics)
            guard let addressee, let payload else { return nil }
            return NotificationBody(
                addressee: addressee, payload: payload, timeToLive: timeToLive, collapseID: collapseID,
                dedupID: dedupID, message: message, topic: topic)
        }
    }
}

extension JSONObject {
    /// `{installId, generation?}`, `{userId}` or `{userIds}`; nil after a fault.
    fileprivate func addressee() -> NotificationPost.Addressee? {
        let (install, user, users) = (self.value("installId"), self.value("userId"), self.value("userIds"))
        let generation = self.value("generation")
        refuseUnknownMembers(besides: ["installId", "generation", "userId", "userIds"])
        let count = [install, user, users].compactMap(\.self).count
        guard count == 1 else {
            self.value.refuse(
                count == 0 ? .required : .ambiguousAddressee,
                "This must have exactly one of installId, userId and userIds.")
            return nil
        }
        if let generation, install == nil {
            generation.refuse(.ambiguousAddressee, "A generation requires installId.")
            return nil
        }
        if let install {
            let id = install.parsedText(InstallID.init(_:))
            let wanted = generation?.integer(in: 0...Int64.max)
            guard let id, generation == nil || wanted != nil else { return nil }
            return .installation(id, ifAt: wanted)
        }
        let named = user.map { [$0] } ?? users?.array(elementsMax: NotificationPost.usersMax).map { Array($0) }
        guard let named else { return nil }
        if named.isEmpty { users?.refuse(.outOfRange, "At least one user is required.") }
        let ids = named.compactMap { value in
            value.string(scalarsMax: Device.textScalarsMax).flatMap { text in
                value.parsed { () throws(InvalidValue) in try UserID(text) }
            }
        }
        var seen = Set<UserID>()
        return .users(ids.filter { seen.insert($0).inserted })
    }

    /// The payload. Its size includes white space.
    fileprivate func payload() -> String? {
        guard let value = value("payload", .required) else { return nil }
        let bytes = value.rawBytes
        guard bytes.count <= NotificationPost.payloadBytesMax else {
            value.refuse(.tooLong, "At most \(NotificationPost.payloadBytesMax) bytes are allowed.")
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate func timeToLive() -> ISO8601Duration? {
        guard let value = value("ttl"), let duration = value.parsedText(ISO8601Duration.init(_:)) else { return nil }
        guard duration.seconds > 0, duration <= NotificationPost.timeToLiveMax else {
            value.refuse(.outOfRange, "This must be above 0 and at most \(NotificationPost.timeToLiveMax).")
            return nil
        }
        return duration
    }

    fileprivate func topic(in catalogue: TopicCatalogue) -> Topic? {
        guard let value = value("topic"), let slug = value.text() else { return nil }
        guard let topic = catalogue[slug] else {
            value.refuse(.unknownTopic, "The app has no such topic.")
            return nil
        }
        return topic
    }

    fileprivate func name(_ name: StaticString) -> String? {
        guard let value = value(name), let text = value.string(scalarsMax: NotificationPost.nameScalarsMax) else {
            return nil
        }
        guard !text.isEmpty else {
            value.refuse(.outOfRange, "This must have at least one character.")
            return nil
        }
        return text
    }
}

extension JSONFault.Code {
    fileprivate static let ambiguousAddressee = JSONFault.Code(rawValue: "ambiguous-addressee")
}
