// PUT /v1/apps/{app}/messages/{message}
// GET /v1/apps/{app}/messages/{message}
// GET /v1/apps/{app}/messages

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    static let messagesPattern = "/v1/apps/{app}/messages"
    static let messagePattern = messagesPattern + "/{message}"
    static let messageRoles: Roles = [.sender, .service, .marketing]

    /// Creates the message or replaces its content. The counts stay. A new expiry applies to receipts that are handed
    /// out later.
    var putMessage: Route {
        appRoute(
            .put, Self.messagePattern, allowing: Self.messageRoles, bodyBytesMax: MessageLimits.bodyBytesMax
        ) { request, call in
            let content = try await request.parsedJSON {
                try MessageBody.content($0, expiryMax: call.app.policy.receiptRetention)
            }
            let name = try request.identifier("message", MessageName.init)
            let (message, isNew) = try await messages.put(name, content, in: call.app.number, at: .now())
            audit.changed("message saved", ["message": "\(name)"], by: call.caller, in: request)
            return .json(status: isNew ? .created : .ok) { $0.about(message) }
        }
    }

    /// The message in the path.
    ///
    /// - Throws: `APIError.unknownMessage`.
    func message(of call: AppCall, in request: ServerRequest) async throws -> Message {
        guard let name = try? MessageName(request.parameters["message"]),
            let message = try await messages.message(name, of: call.app.number)
        else { throw APIError.unknownMessage }
        return message
    }

    var getMessage: Route {
        appRoute(.get, Self.messagePattern, allowing: Self.messageRoles) { request, call in
            let message = try await message(of: call, in: request)
            let (asOf, counts) = try await messages.counts(of: message.number, in: call.app.number)
            return .json { writer in
                writer.about(message)
                writer.members(counts)
                writer.member("asOf", asOf.description)
            }
        }
    }

    /// The newest first, without their counts.
    var listMessages: Route {
        appRoute(.get, Self.messagesPattern, allowing: Self.messageRoles) { request, call in
            let page = try PageRequest(request) { Int64($0).map(MessageNumber.init) }
            let found = try await messages.messages(
                of: call.app.number, before: page.after, limit: page.limit + 1)
            return .json(capacity: 4_096) { writer in
                writer.objects("messages", found.prefix(page.limit)) { $0.about($1) }
                let last = found.count > page.limit ? found[page.limit - 1] : nil
                writer.member("next", last.map { "\($0.number.rawValue)" })
            }
        }
    }
}

enum MessageLimits {
    /// The largest body: 32 labels of 128 and 256 characters, all escaped, and a title.
    static let bodyBytesMax = 128 * 1_024
    static let titleScalarsMax = 256
    static let labelValueScalarsMax = 256
}

/// `{title?, labels?, expiresIn?, record?}`.
private enum MessageBody {
    /// - Parameter expiryMax: the app's `receiptRetention`: a receipt that outlives its row would count again.
    static func content(_ body: [UInt8], expiryMax: ISO8601Duration) throws -> MessageContent {
        let body = body.isEmpty ? Array("{}".utf8) : body
        return try JSONObject.read(body, members: ["title", "labels", "expiresIn", "record"]) { root in
            MessageContent(
                title: root.string("title", scalarsMax: MessageLimits.titleScalarsMax),
                labels: root.object("labels").map(labels) ?? [],
                expiresIn: root.expiry(max: expiryMax) ?? min(MessageContent.standardExpiry, expiryMax),
                isRecorded: root.boolean("record") ?? false)
        }
    }

    private static func labels(_ object: JSONObject) -> [MessageContent.Label] {
        let members = object.members.filter { $0.value.kind != .null }
        if members.count > MessageContent.labelsMax {
            object.value.refuse(.tooMany, "At most \(MessageContent.labelsMax) labels are allowed.")
        }
        return members.prefix(MessageContent.labelsMax).compactMap { name, value in
            if !(1...MessageContent.labelScalarsMax).contains(name.unicodeScalars.count) {
                value.refuse(.tooLong, "A label's name is 1 to \(MessageContent.labelScalarsMax) characters.")
            }
            return value.string(scalarsMax: MessageLimits.labelValueScalarsMax)
                .map { MessageContent.Label(name: name, value: $0) }
        }
    }
}

extension JSONObject {
    /// The member `expiresIn`; nil if it is absent, and after a fault.
    fileprivate func expiry(max: ISO8601Duration) -> ISO8601Duration? {
        guard let expiry = value("expiresIn")?.parsedText(ISO8601Duration.init(_:)) else { return nil }
        guard expiry.seconds > 0, expiry <= max else {
            refuse(
                member: "expiresIn", .outOfRange,
                "This must be above 0 and at most \(max), the app's receiptRetention.")
            return nil
        }
        return expiry
    }
}

extension JSONWriter {
    /// Writes the members that a client has set, and the times.
    package mutating func about(_ message: Message) {
        member("message", message.name.rawValue)
        member("title", message.content.title)
        object("labels") { writer in
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
