import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry

/// The audit log: failed authentications, refusals, changes of apps, keys and segments, erasures, and reads of many
/// installations. Lines contain keys' ids, roles, apps and addresses; never a credential, a token or a user.
struct Audit: Sendable {
    private let logger = Logger(label: "audit")

    /// Logs an error that depends on the caller; ignores other errors.
    ///
    /// - Parameter caller: nil if authentication failed.
    func refused(_ error: APIError, by caller: Caller?, _ request: ServerRequest) {
        switch error {
        case .missingCredential, .invalidCredential, .endedKey:
            log("authentication failed", ["reason": "\(error.problem.code)"], nil, request)
        case .invalidUserToken(let fault):
            log("authentication failed", ["reason": "\(fault.rawValue)"], nil, request)
        case .endedCredential, .forbidden, .ownedInstallation, .unprovenLogout:
            log("refused", ["reason": "\(error.problem.code)"], caller, request)
        case .unknownApp:
            // The admin key may ask for any app, so a wrong app id is only a mistake. An app's key may not.
            guard let caller, !caller.isServerAdmin else { return }
            log("refused", ["reason": "key-of-another-app"], caller, request)
        default: break
        }
    }

    /// Logs a sign-in by the console's identity provider that failed.
    func signInFailed(_ reason: String, in request: ServerRequest) {
        log("authentication failed", ["reason": "\(reason)"], nil, request)
    }

    func erased(_ receipt: Erasure.Receipt, receiptID: String, by call: AppCall, in request: ServerRequest) {
        let counts: Logger.Metadata = [
            "receiptId": "\(receiptID)", "installations": "\(receipt.installations)",
            "snapshots": "\(receipt.snapshots)", "events": "\(receipt.events)",
            "topics": "\(receipt.topics)",
            "receipts": "\(receipt.receipts)", "targets": "\(receipt.targets)",
            "notifications": "\(receipt.notifications)",
        ]
        log("user erased", counts, call.caller, request)
    }

    /// Logs a read of many installations.
    func read(_ what: String, _ more: Logger.Metadata, by call: AppCall, in request: ServerRequest) {
        log(what, more, call.caller, request)
    }

    /// Logs a change of a key or a segment.
    func changed(_ what: String, _ more: Logger.Metadata, by caller: Caller, in request: ServerRequest) {
        log(what, more, caller, request)
    }

    /// Logs a change of an app's policy.
    ///
    /// - Parameter members: the names of the changed members.
    func changed(_ what: String, _ members: [String], of app: AppID, by caller: Caller, in request: ServerRequest) {
        log(what, ["app": "\(app)", "members": "\(members.joined(separator: ","))"], caller, request)
    }

    private func log(_ what: String, _ more: Logger.Metadata, _ caller: Caller?, _ request: ServerRequest) {
        var metadata: Logger.Metadata = [
            "address": "\(request.clientAddress)", "method": "\(request.method.rawValue)",
            "route": "\(request.routePattern)", "requestId": "\(request.requestID)",
        ]
        if let caller { metadata["actor"] = "\(caller.actor)" }
        if let person = caller?.person { metadata["person"] = "\(person.name)" }
        // A path segment that is not a valid app id is not logged.
        if request.routePattern.contains("{app}"), let app = try? AppID(request.parameters["app"]) {
            metadata["app"] = "\(app)"
        }
        logger.notice("\(what)", metadata: metadata.merging(more) { _, own in own })
    }
}
