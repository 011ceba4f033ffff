// DELETE /v1/apps/{app}/users/{userId}

import Foundation
import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    var eraseUser: Route {
        appRoute(.delete, Self.userPattern, allowing: [.service]) { request, call in
            let userID = try request.identifier("userId", UserID.init)
            let receipt = try await users.erase(
                Erasure(
                    app: call.app.number, userID: userID, actor: call.caller.actor, identityKey: call.app.identityKey))
            let receiptID = UUID().uuidString.lowercased()
            let entry = AuditEntry(.userErased, receiptID, by: call.caller, in: request)
            try await auditEntries.record(entry, of: call.app.number)
            audit.changed(entry, receipt.counts, by: call.caller, in: request)
            return .json(text(of: receipt, receiptID: receiptID, of: userID))
        }
    }

    private func text(of receipt: Erasure.Receipt, receiptID: String, of userID: UserID) -> JSONWriter {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("userId", userID.rawValue)
            writer.member("installations", Int64(receipt.installations))
            writer.member("snapshots", Int64(receipt.snapshots))
            writer.member("events", Int64(receipt.events))
            writer.member("topics", Int64(receipt.topics))
            writer.member("receipts", receipt.receipts)
            writer.member("targets", receipt.targets)
            writer.member("notifications", Int64(receipt.notifications))
            writer.member("erasedAt", receipt.erasedAt.description)
            writer.member("receiptId", receiptID)
        }
        return writer
    }
}

extension Erasure.Receipt {
    /// For the audit log.
    fileprivate var counts: Logger.Metadata {
        [
            "installations": "\(installations)", "snapshots": "\(snapshots)", "events": "\(events)",
            "topics": "\(topics)", "receipts": "\(receipts)", "targets": "\(targets)",
            "notifications": "\(notifications)",
        ]
    }
}
