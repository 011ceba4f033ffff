// POST /v1/apps/{app}/notifications

import HTTPApplication
import HTTPTypes
import PushRegistry
import Receipts
import StrictJSON

extension ReceiptSealer: ReceiptSealing {}

extension RegistryService {
    /// More than a payload and 100 users of 128 characters need.
    static let notificationBytesMax = 64 * 1024

    var postNotification: Route {
        appRoute(
            .post, Self.appPattern + "/notifications", allowing: [.sender, .service],
            bodyBytesMax: Self.notificationBytesMax
        ) { request, call in
            let body = try await request.parsedJSON { try NotificationBody.parse($0, topics: call.app.topics) }
            var message: SealedMessage?
            if let reference = body.message {
                let handedOut = try await handedOut(reference, by: call)
                message = SealedMessage(handedOut.message, sealer: handedOut.sealer)
            }
            let post = NotificationPost(
                to: body.addressee, of: call.app, payload: body.payload, timeToLive: body.timeToLive,
                collapseID: body.collapseID, dedupID: body.dedupID, topic: body.topic, message: message)
            let posted = try await notifications.post(post)
            return .json(capacity: 64 + 400 * posted.count) { writer in
                writer.array("notifications", posted) { writer, one in
                    let names = EpochNames(of: one.target.epoch, on: one.target.installID, in: call, epochKeys)
                    writer.notification(one, epoch: names.epoch)
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func notification(_ posted: PostedNotification, epoch: String) {
        object { writer in
            writer.member("installId", posted.target.installID.rawValue)
            writer.member("provider", posted.target.token.provider.rawValue)
            writer.member("token", posted.target.token.text)
            writer.member("addressKind", posted.target.token.addressKind.rawValue)
            if let keys = posted.target.keys { writer.member(keys) }
            writer.member("number", posted.issued.number)
            writer.member("previous", posted.issued.previous)
            writer.member("epoch", epoch)
            writer.member("badge", posted.badge)
            if let receipt = posted.issued.receipt { writer.member("receipt", receipt) }
        }
    }
}
