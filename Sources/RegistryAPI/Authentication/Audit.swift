import HTTPServer
import HTTPTypes
import Logging
import PushRegistry

/// What an operator wants to find again: failed authentications, refusals, changes of apps, keys and segments,
/// erasures, and reads of many installations. Lines name keys, roles, apps and addresses; never a credential, a token
/// or a user.
struct Audit: Sendable {
    private let logger = Logger(label: "audit")

    /// Logs an error that is a matter of who called; other errors are not logged here.
    ///
    /// - Parameter caller: nil if the credential proved nobody.
    func refused(_ error: APIError, by caller: Caller?, _ request: ServerRequest) {
        switch error {
        case .missingCredential, .invalidCredential:
            log("authentication failed", ["reason": "\(error.problem.code)"], nil, request)
        case .invalidUserToken(let fault):
            log("authentication failed", ["reason": "\(fault.rawValue)"], nil, request)
        case .endedCredential, .forbidden, .unprovenLogout:
            log("refused", ["reason": "\(error.problem.code)"], caller, request)
        case .unknownApp:
            // The admin key's holder may ask for any app; a key that asks for another app's is worth a line.
            guard let caller, !caller.isServerAdmin else { return }
            log("refused", ["reason": "key-of-another-app"], caller, request)
        default: break
        }
    }

    func erased(_ receipt: Erasure.Receipt, receiptID: String, by call: AppCall, in request: ServerRequest) {
        let counts: Logger.Metadata = [
            "receiptId": "\(receiptID)", "installations": "\(receipt.installations)",
            "snapshots": "\(receipt.snapshots)", "events": "\(receipt.events)",
        ]
        log("user erased", counts, call.caller, request)
    }

    /// Many installations are read at once, or were.
    func read(_ what: String, _ more: Logger.Metadata, by call: AppCall, in request: ServerRequest) {
        log(what, more, call.caller, request)
    }

    /// An app, its policy, a key or a segment was changed.
    func changed(_ what: String, _ more: Logger.Metadata, by caller: Caller, in request: ServerRequest) {
        log(what, more, caller, request)
    }

    /// - Parameter members: of the policy, by name.
    func changed(_ what: String, _ members: [String], of app: AppID, by caller: Caller, in request: ServerRequest) {
        log(what, ["app": "\(app)", "members": "\(members.joined(separator: ","))"], caller, request)
    }

    private func log(_ what: String, _ more: Logger.Metadata, _ caller: Caller?, _ request: ServerRequest) {
        var metadata: Logger.Metadata = [
            "address": "\(request.clientAddress)", "method": "\(request.method.rawValue)",
            "route": "\(request.routePattern)", "requestId": "\(request.requestID)",
        ]
        if let caller { metadata["actor"] = "\(caller.actor)" }
        // The path's, as long as it is the name of an app: what else stands there is not logged.
        if request.routePattern.contains("{app}"), let app = try? AppID(request.parameters["app"]) {
            metadata["app"] = "\(app)"
        }
        logger.notice("\(what)", metadata: metadata.merging(more) { _, own in own })
    }
}
