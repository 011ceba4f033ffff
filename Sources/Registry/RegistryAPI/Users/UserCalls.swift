// POST /v1/apps/{app}/users/{userId}/logout
// DELETE /v1/apps/{app}/sessions/{sessionId}
// DELETE /v1/apps/{app}/users/{userId}

import Foundation
import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    static let userPattern = "/v1/apps/{app}/users/{userId}"

    var logOutUser: Route {
        appRoute(
            .post, Self.userPattern + "/logout", allowing: [.service], bodyBytesMax: Self.logoutBytesMax
        ) { request, call in
            let kept = try UserLogoutBody.exceptedSession(try request.jsonBody())
            let userID = try request.identifier("userId", UserID.init)
            let count = try await users.end(
                SessionEnd(
                    app: call.app.number, scope: .user(userID, except: kept), catalogue: call.app.topics,
                    actor: call.caller.actor))
            return .loggedOut(count)
        }
    }

    var endSession: Route {
        appRoute(.delete, "/v1/apps/{app}/sessions/{sessionId}", allowing: [.service]) { request, call in
            let sessionID = try request.identifier("sessionId", SessionID.init)
            let count = try await users.end(
                SessionEnd(
                    app: call.app.number, scope: .session(sessionID), catalogue: call.app.topics,
                    actor: call.caller.actor))
            return .loggedOut(count)
        }
    }

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
            return .json { writer in
                writer.member("userId", userID.rawValue)
                writer.member("installations", receipt.installations)
                writer.member("snapshots", receipt.snapshots)
                writer.member("events", receipt.events)
                writer.member("topics", receipt.topics)
                writer.member("receipts", receipt.receipts)
                writer.member("targets", receipt.targets)
                writer.member("notifications", receipt.notifications)
                writer.member("erasedAt", receipt.erasedAt.description)
                writer.member("receiptId", receiptID)
            }
        }
    }
}

/// `{exceptSessionId?}`, or an empty body.
enum UserLogoutBody {
    static func exceptedSession(_ body: [UInt8]) throws -> SessionID? {
        guard !body.isEmpty else { return nil }
        return try JSONObject.read(body, members: ["exceptSessionId"]) { root -> SessionID?? in
            guard let text = root.string("exceptSessionId", scalarsMax: 128) else { return .some(nil) }
            return root.parsed("exceptSessionId") { () throws(InvalidValue) in try SessionID(text) }
        }
    }
}

extension ServerResponse {
    /// `{loggedOut: n}`.
    static func loggedOut(_ count: Int) -> ServerResponse {
        return .json { $0.member("loggedOut", Int64(count)) }
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
