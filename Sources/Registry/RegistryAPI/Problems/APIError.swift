import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

/// An error of the API. Only `problem` decides what the client receives.
enum APIError: Error {
    case missingCredential
    case invalidCredential
    /// The key was valid once: a revoked or expired API key, or the delivery key of an epoch that has ended. Of a
    /// delivery key nobody can tell later whether it ever was valid.
    case endedKey
    case invalidUserToken(UserTokenFault)
    /// The key set of the app's identity provider cannot be fetched, so it is unknown whether the JWT is valid.
    case keySetUnavailable(retryAfter: Duration)
    /// R7: the JWT was issued before a logout of its user, or its session has ended.
    case endedCredential
    /// Too many credentials from the address did not verify.
    case tooManyFailedAuthentications(retryAfter: Duration)
    /// Too many sign-ins to the console failed.
    case tooManySignIns(retryAfter: Duration)
    /// The console's cookie names no session, or one that has ended.
    case signedOut
    /// A call of the console that changes something comes from another site's page.
    case foreignPage
    /// The console is called over plain HTTP by another name than this machine's.
    case foreignHost
    case tooManyRequests(retryAfter: Duration)
    /// The app does not exist, or the credential belongs to another app.
    case unknownApp
    case forbidden(String)
    /// A logout of an owned installation by the publishable key without its delivery key.
    case unprovenLogout
    /// A registration by the publishable key of an owned installation, without its token or delivery key.
    case ownedInstallation
    case unsupportedMediaType(String)
    case invalidBody([JSONFault])
    /// The app's policy does not allow the endpoint of a registration. All faults of its body.
    case pushServiceNotAllowed([JSONFault])
    case invalidParameters([ParameterFault])
    case unknownInstallation
    /// A call about one token requires an active installation.
    case inactiveInstallation
    case tooManyTypedTokens
    case unknownKey
    /// The body contains more items than one call may.
    case tooManyItems(max: Int)
    /// The feed or a history cannot continue from the cursor.
    case cursorExpired
    /// Notifications cannot be fetched from this number or in this epoch. The present epoch and its bounds.
    case notificationsGone(epoch: String, first: Int64, last: Int64)
    /// The addressee of a notification has more installations than one call may.
    case tooManyInstallations(max: Int)
    /// R8: the current generation, 0 if there is no installation; nil if the caller may not read the record.
    case outdated(generation: Int64?)
    /// `If-Match` of a policy or segment failed. The current revision, if there is one.
    case changedMeanwhile(revision: String?)
    /// This version of the service cannot use the app's stored policy. The reason; nil if the caller is not verified.
    case unusablePolicy(String?)
    /// R7: the session of a registration has ended.
    case sessionEnded
    case unknownSegment
    /// The segment would contain itself. The references that lead to it.
    case segmentCycle([JSONFault])
    case segmentInUse
    case tooManySegments
    case unknownMessage
    /// Receipts of the message are no longer handed out.
    case messageExpired
    /// The message's targets are not stored.
    case messageNotRecorded
    /// An address sends receipts too often.
    case tooManyReceipts(retryAfter: Duration)
    case unknownTopic
    /// A saved segment names the topic.
    case topicInUse
    case tooManyTopics
    case tooManyKeys
    /// The call leaves locked topics. The members that do.
    case topicLocked([JSONFault])
    /// A JWT names another user's choices.
    case unknownUser
    /// The query of an audience exceeded its time limit.
    case tooExpensive
    case store(StoreError)
}

extension APIError {
    /// One text for all credentials that did not verify: another one would tell which apps exist.
    private static let unverified = "This is not a key or JWT of this app, or it was revoked or has expired."

    /// A credential that is not accepted.
    private static func unauthorized(code: String, _ detail: String) -> Problem {
        Problem(
            .unauthorized, code: code, detail: detail,
            fields: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
    }

    /// A call that may be repeated after a wait.
    private static func later(
        code: String, _ detail: String, after wait: Duration, _ status: HTTPResponse.Status = .tooManyRequests
    ) -> Problem {
        Problem(status, code: code, detail: detail, fields: [.retryAfter: wait.wholeSecondsUp])
    }

    /// Status, code and detail of each error. The error page lists them.
    var problem: Problem {
        switch self {
        case .missingCredential:
            Problem(
                .unauthorized, code: "missing-credential", detail: "Send a key as Authorization: Bearer.",
                fields: [.wwwAuthenticate: "Bearer"])
        case .invalidCredential, .endedKey:
            Self.unauthorized(code: "invalid-credential", Self.unverified)
        case .invalidUserToken(let fault):
            Self.unauthorized(code: "invalid-credential", fault.detail ?? Self.unverified)
        case .keySetUnavailable(let wait):
            Self.later(
                code: "key-set-unavailable",
                "The keys of the app's identity provider cannot be fetched now. Try again with the same JWT.",
                after: wait, .serviceUnavailable)
        case .endedCredential:
            Self.unauthorized(
                code: "credential-ended", "The user was logged out after this JWT was issued. Sign in again.")
        case .tooManyRequests(let wait):
            Self.later(
                code: "too-many-requests", "This key or address exceeds the rate limit of the app.", after: wait)
        case .tooManyFailedAuthentications(let wait):
            Self.later(
                code: "too-many-failed-authentications", "Too many calls from this address had an invalid credential.",
                after: wait)
        case .tooManySignIns(let wait):
            Self.later(
                code: "too-many-failed-authentications", "Too many sign-ins from this address failed.", after: wait)
        case .signedOut:
            Problem(
                .unauthorized, code: "signed-out", detail: "Nobody is signed in, or the session has ended.",
                fields: [
                    .wwwAuthenticate: "Cookie cookie-name=\"\(SessionCookie.name)\"",
                    .setCookie: SessionCookie.removal,
                ])
        case .foreignPage:
            Problem(.forbidden, code: "foreign-page", detail: "Only the console's own page may make this call.")
        case .foreignHost:
            Problem(
                .forbidden, code: "foreign-host",
                detail: "Over plain HTTP the console works on this machine only, as localhost. Use TLS.")
        case .unknownApp:
            Problem(.notFound, code: "unknown-app", detail: "This app does not exist.")
        case .forbidden(let detail):
            Problem(.forbidden, code: "forbidden", detail: detail)
        case .unprovenLogout:
            Problem(
                .forbidden, code: "forbidden",
                detail: "Logging out a user's installation requires a JWT, or X-Delivery-Key with the present key.")
        case .ownedInstallation:
            Problem(
                .forbidden, code: "owned-installation",
                detail: "The installation belongs to a user, or X-Delivery-Key is not its present delivery key.")
        case .unsupportedMediaType(let expected):
            Problem(
                .unsupportedMediaType, code: "unsupported-media-type", detail: "The body must be \(expected).",
                fields: [.accept: expected])
        case .invalidBody(let faults):
            Problem(
                .badRequest, code: faults.first?.code == .malformed ? "malformed-json" : "invalid-body",
                detail: "The body is invalid; errors lists every fault.")
        case .pushServiceNotAllowed:
            Problem(
                .badRequest, code: InvalidValue.pushServiceNotAllowed.code,
                detail: InvalidValue.pushServiceNotAllowed.detail)
        case .invalidParameters(let faults):
            Problem(
                .badRequest,
                code: faults.contains { $0.code == "invalid-header" } ? "invalid-header" : "invalid-parameter",
                detail: "The path, the query or a header is invalid; errors lists every fault.")
        case .unknownInstallation:
            Problem(.notFound, code: "unknown-installation", detail: "This installation does not exist.")
        case .inactiveInstallation:
            Problem(
                .conflict, code: "not-active",
                detail: "The installation is not active. Register it; the registration may bring this token.")
        case .tooManyTypedTokens:
            Problem(
                .conflict, code: "too-many-tokens",
                detail: "The installation has \(SentTypedToken.countMax) such tokens already. Delete one first.")
        case .unknownKey:
            Problem(.notFound, code: "unknown-key", detail: "The app has no such key.")
        case .tooManyItems(let max):
            Problem(.contentTooLarge, code: "too-many-items", detail: "At most \(max) items are allowed in one call.")
        case .cursorExpired:
            Problem(
                .gone, code: "cursor-expired",
                detail: "The events after this cursor are no longer available. Read from the beginning, without after.")
        case .notificationsGone:
            Problem(
                .gone, code: "notifications-gone",
                detail: "Some notifications are lost, or were for another owner. Fetch after first - 1 in this epoch.")
        case .tooManyInstallations(let max):
            Problem(
                .contentTooLarge, code: "too-many-installations",
                detail: "The users have more than \(max) installations. Send to fewer of them in one call.")
        case .outdated(let generation):
            Problem(
                .preconditionFailed, code: "outdated",
                detail: "If-Match does not name the current generation.",
                fields: generation.map { [.eTag: ETag.make($0)] } ?? [:])
        case .changedMeanwhile(let revision):
            Problem(
                .preconditionFailed, code: "outdated",
                detail: "If-Match does not name the current version. Read it again and repeat the change.",
                fields: revision.map { [.eTag: ETag.make($0)] } ?? [:])
        case .unusablePolicy(let reason):
            Problem(
                .serviceUnavailable, code: "unusable-policy",
                detail: ["The app's stored policy cannot be used.", reason, "PUT /v1/apps/{app} replaces it."]
                    .compactMap(\.self).joined(separator: " "),
                fields: [.retryAfter: "60"])
        case .sessionEnded:
            Problem(
                .conflict, code: "session-ended", detail: "This session was logged out. Sign in and register again.")
        case .unknownSegment:
            Problem(.notFound, code: "unknown-segment", detail: "The app has no such segment.")
        case .segmentCycle:
            Problem(.badRequest, code: "segment-cycle", detail: "The segment would contain itself.")
        case .segmentInUse:
            Problem(.conflict, code: "segment-in-use", detail: "Another segment names this one.")
        case .tooManySegments:
            Problem(.conflict, code: "too-many-segments", detail: "The app has the largest number of segments already.")
        case .unknownMessage:
            Problem(.notFound, code: "unknown-message", detail: "The app has no such message.")
        case .messageExpired:
            Problem(
                .conflict, code: "message-expired",
                detail: "The message has expired. PUT it with a longer expiresIn, or use a new message.")
        case .messageNotRecorded:
            Problem(
                .conflict, code: "message-not-recorded",
                detail: "The message was created without `record`, so the registry has not stored its targets.")
        case .tooManyReceipts(let wait):
            Self.later(
                code: "too-many-requests", "This address sends receipts too often. Keep them, and send them later.",
                after: wait)
        case .unknownTopic:
            Problem(.notFound, code: "unknown-topic", detail: "The app has no such topic.")
        case .topicLocked:
            Problem(.conflict, code: "topic-locked", detail: "Nobody can leave a locked topic.")
        case .unknownUser:
            Problem(.notFound, code: "unknown-user", detail: "This user does not exist.")
        case .topicInUse:
            Problem(.conflict, code: "topic-in-use", detail: "A saved segment names this topic.")
        case .tooManyTopics:
            Problem(.conflict, code: "too-many-topics", detail: "The app has the largest number of topics already.")
        case .tooManyKeys:
            Problem(.conflict, code: "too-many-keys", detail: "The app has the largest number of keys already.")
        case .tooExpensive:
            Problem(
                .unprocessableContent, code: "filter-too-expensive",
                detail: "The query exceeds its time limit. Simplify the filter; explain shows the plan.")
        case .store(.unavailable):
            Problem(
                .serviceUnavailable, code: "database-unavailable", detail: "The database cannot be reached. Try again.",
                fields: [.retryAfter: "1"])
        case .store(.overloaded):
            Problem(
                .serviceUnavailable, code: "overloaded", detail: "Too many calls are waiting. Try again.",
                fields: [.retryAfter: "1"])
        case .store(.failed):
            Problem(.internalServerError, code: "internal-error", detail: "The server failed to process this request.")
        }
    }

    /// Whether the credential may be a guess: its key is unknown, or its signature does not verify. A missing or ended
    /// credential and a missing role are no guesses.
    var isGuess: Bool {
        switch self {
        case .invalidCredential: true
        case .invalidUserToken(let fault): fault.detail == nil
        default: false
        }
    }

    /// Whether the credential is missing or not valid, so that there is no caller.
    var isFailedAuthentication: Bool {
        switch self {
        case .missingCredential, .invalidCredential, .endedKey, .invalidUserToken: true
        default: false
        }
    }

    /// The API error for an error of a handler; nil for an error of another kind.
    init?(_ error: any Error) {
        switch error {
        case let error as APIError: self = error
        case let refused as RefusedCall: self = refused.error
        case let missing as MissingKey: self = .invalidUserToken(missing.fault)
        case let error as StoreError: self = .store(error)
        case let error as JSONFaults:
            let isOfService = error.faults.contains { $0.code == .pushServiceNotAllowed }
            self = isOfService ? .pushServiceNotAllowed(error.faults) : .invalidBody(error.faults)
        case RegistrationRefusal.outdated(let generation): self = .outdated(generation: generation)
        case RegistrationRefusal.sessionEnded: self = .sessionEnded
        case RegistrationRefusal.owned: self = .ownedInstallation
        case let refusal as TypedTokenRefusal: self.init(refusal)
        case Logout.Refusal.notFound: self = .unknownInstallation
        case Logout.Refusal.unproven: self = .unprovenLogout
        case DeletionRefusal.outdated(let generation): self = .outdated(generation: generation)
        case is AppIsBeingDeleted: self = .unknownApp
        case EventRefusal.cursorExpired: self = .cursorExpired
        case NotificationRefusal.unknownInstallation: self = .unknownInstallation
        case NotificationRefusal.tooManyInstallations:
            self = .tooManyInstallations(max: NotificationPost.installationsMax)
        case DeletionRefusal.notFound: self = .unknownInstallation
        case AudienceRefusal.tooExpensive, AudienceRefusal.exportExpired: self = .tooExpensive
        case SegmentRefusal.inUse: self = .segmentInUse
        case SegmentRefusal.tooMany: self = .tooManySegments
        case SegmentRefusal.unknownTopic:
            self = .invalidBody([
                JSONFault(pointer: "/filter", code: .unknownTopic, detail: "A topic of the filter was deleted.")
            ])
        case TopicRefusal.inUse: self = .topicInUse
        case TopicRefusal.tooMany: self = .tooManyTopics
        case is APIKey.TooMany: self = .tooManyKeys
        case TopicsPatch.Refusal.notFound: self = .unknownInstallation
        case TopicsPatch.Refusal.credentialEnded: self = .endedCredential
        default: return nil
        }
    }

    fileprivate init(_ refusal: TypedTokenRefusal) {
        switch refusal {
        case .notFound: self = .unknownInstallation
        case .owned: self = .ownedInstallation
        case .credentialEnded: self = .endedCredential
        case .outdated(let generation): self = .outdated(generation: generation)
        case .notActive: self = .inactiveInstallation
        case .tooMany: self = .tooManyTypedTokens
        case .otherProvider:
            self = .invalidBody([
                JSONFault(
                    pointer: "/token", code: .wrongProvider,
                    detail: "The installation is not of apns or apnsSandbox: only these have such tokens.")
            ])
        case .past:
            self = .invalidBody([
                JSONFault(pointer: "/expiresAt", code: .outOfRange, detail: "This must be in the future.")
            ])
        }
    }
}

extension Duration {
    /// The value of `Retry-After`: whole seconds, at least 1 and at most a day.
    fileprivate var wholeSecondsUp: String {
        let seconds = self / .seconds(1)
        return String(Int(min(max(1, seconds.rounded(.up)), 86_400)))
    }
}

/// An error that depends on the caller, with the caller for the audit log.
struct RefusedCall: Error {
    let error: APIError
    let caller: Caller

    init(_ error: APIError, _ caller: Caller) {
        (self.error, self.caller) = (error, caller)
    }
}
