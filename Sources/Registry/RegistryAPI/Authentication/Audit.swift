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

    /// Logs a read of many installations.
    func read(_ what: String, _ more: Logger.Metadata, by call: AppCall, in request: ServerRequest) {
        log(what, more, call.caller, request)
    }

    /// Logs what has no entry in the database.
    func changed(_ what: String, _ more: Logger.Metadata, by caller: Caller, in request: ServerRequest) {
        log(what, more, caller, request)
    }

    /// Logs a change that has an entry.
    func changed(_ entry: AuditEntry, _ more: Logger.Metadata = [:], by caller: Caller, in request: ServerRequest) {
        log(entry.message, entry.metadata.merging(more) { $1 }, caller, request)
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

extension AuditEntry {
    init(
        _ action: Action, _ target: String, members: [String] = [], by caller: Caller, in request: ServerRequest
    ) {
        self.init(
            action.rawValue, target, members: members, actor: caller.actor, person: caller.person?.name,
            roles: caller.namedRoles.map(\.rawValue), requestID: "\(request.requestID)")
    }

    /// The change as the audit log says it: `key created`.
    package var message: String { action.split(separator: ".").joined(separator: " ") }

    /// What the audit log says of it: the target, by a name that tells its kind; the members of a policy.
    package var metadata: Logger.Metadata {
        let kind = action.prefix { $0 != "." }
        guard kind != "app", kind != "policy" else {
            return ["app": "\(target)", "members": "\(members.joined(separator: ","))"]
        }
        let names = ["key": "keyId", "user": "receiptId", "feedback": "provider", "cleanup": "run"]
        return [names[String(kind)] ?? String(kind): "\(target)"]
    }
}
