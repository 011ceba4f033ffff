import HTTPServer
import HTTPTypes
import Logging
import PushRegistry

/// What an operator wants to find again: who failed to authenticate, who was refused, what was erased. Lines name keys,
/// apps and addresses; never a credential, a token or a user.
struct Audit: Sendable {
    private let logger = Logger(label: "audit")

    /// Tells of an answer that is a matter of who called; other errors are none of its business.
    func refused(_ error: APIError, _ request: ServerRequest) {
        switch error {
        case .missingCredential, .invalidCredential:
            logger.notice("authentication failed", metadata: metadata(request, ["reason": "\(error.problem.code)"]))
        case .invalidUserToken(let fault):
            logger.notice("authentication failed", metadata: metadata(request, ["reason": "\(fault.rawValue)"]))
        case .forbidden, .unprovenLogout:
            logger.notice("refused", metadata: metadata(request, ["reason": "\(error.problem.code)"]))
        default: break
        }
    }

    func erased(_ receipt: Erasure.Receipt, receiptID: String, by call: AppCall, in request: ServerRequest) {
        logger.notice(
            "user erased",
            metadata: metadata(
                request,
                [
                    "receiptId": "\(receiptID)", "app": "\(call.app.id)", "actor": "\(call.caller.actor)",
                    "installations": "\(receipt.installations)", "snapshots": "\(receipt.snapshots)",
                    "events": "\(receipt.events)",
                ]))
    }

    /// Somebody begins to read, or has read, many installations at once.
    func read(_ what: String, _ more: Logger.Metadata, by call: AppCall, in request: ServerRequest) {
        let who: Logger.Metadata = ["app": "\(call.app.id)", "actor": "\(call.caller.actor)"]
        logger.notice("\(what)", metadata: metadata(request, who.merging(more) { first, _ in first }))
    }

    private func metadata(_ request: ServerRequest, _ more: Logger.Metadata) -> Logger.Metadata {
        more.merging([
            "address": "\(request.clientAddress)", "method": "\(request.method.rawValue)",
            "route": "\(request.routePattern)", "requestId": "\(request.requestID)",
        ]) { first, _ in first }
    }
}
