import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

/// Why a call did not succeed, in the terms of the API. What a client sees of it is decided in `problem` alone.
enum APIError: Error {
    case missingCredential
    case invalidCredential
    case invalidUserToken(UserTokenFault)
    /// The keys of the app's identity provider cannot be had: nobody knows whether the JWT is good.
    case keySetUnavailable(retryAfter: Duration)
    /// R7: a JWT from before a logout of its user, or of a session that has ended.
    case endedCredential
    case tooManyFailedAuthentications
    case tooManyRequests(retryAfter: Duration)
    /// There is no such app, or it is none of the caller's.
    case unknownApp
    case forbidden(String)
    /// A logout by the publishable key that does not show the generation of an owned installation.
    case unprovenLogout
    case unsupportedMediaType(String)
    case invalidBody([JSONFault])
    case invalidParameters([ParameterFault])
    case unknownInstallation
    case unknownKey
    /// A list of more items than one call may bring.
    case tooManyItems(max: Int)
    /// The feed or a history cannot go on from the cursor.
    case cursorExpired
    /// R8: the present generation, 0 if there is no installation; nil if the caller may not read the record.
    case outdated(generation: Int64?)
    /// A conditional change of a policy or segment that another change came before. The present revision, if there is
    /// one.
    case changedMeanwhile(revision: String?)
    /// The app's stored policy cannot be used by this version of the service.
    case unusablePolicy(String)
    /// R7.
    case sessionEnded
    case unknownSegment
    /// A segment that would lead back to itself, with the places that do so.
    case segmentCycle([JSONFault])
    case segmentInUse
    case tooManySegments
    /// An audience that takes longer to find than it may.
    case tooExpensive
    case store(StoreError)
}

/// What is wrong with a header field, a part of the path or a query parameter.
struct ParameterFault: Sendable {
    let parameter: String
    let code: String
    let detail: String
}

extension APIError {
    /// Status, code and sentence of each error, as the error page lists them.
    var problem: Problem {
        switch self {
        case .missingCredential:
            Problem(
                .unauthorized, code: "missing-credential", detail: "Send a key as Authorization: Bearer.",
                fields: [.wwwAuthenticate: "Bearer"])
        case .invalidCredential:
            Problem(
                .unauthorized, code: "invalid-credential",
                detail: "No key or JWT of this app: it is not known, or was revoked.",
                fields: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
        case .invalidUserToken(let fault):
            Problem(
                .unauthorized, code: "invalid-credential", detail: fault.detail,
                fields: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
        case .keySetUnavailable(let wait):
            Problem(
                .serviceUnavailable, code: "key-set-unavailable",
                detail: "The keys of the app's identity provider cannot be fetched now. Try again with the same JWT.",
                fields: [.retryAfter: wait.wholeSecondsUp])
        case .endedCredential:
            Problem(
                .unauthorized, code: "credential-ended",
                detail: "The user was logged out after this JWT was issued. Sign in again.",
                fields: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
        case .tooManyRequests(let wait):
            Problem(
                .tooManyRequests, code: "too-many-requests",
                detail: "This key or address calls more often than the app allows.",
                fields: [.retryAfter: wait.wholeSecondsUp])
        case .tooManyFailedAuthentications:
            Problem(
                .tooManyRequests, code: "too-many-failed-authentications",
                detail: "Too many calls from this address came with a bad credential.", fields: [.retryAfter: "1"])
        case .unknownApp:
            Problem(.notFound, code: "unknown-app", detail: "There is no such app.")
        case .forbidden(let detail):
            Problem(.forbidden, code: "forbidden", detail: detail)
        case .unprovenLogout:
            Problem(
                .forbidden, code: "forbidden",
                detail: "Logging out a user's installation needs a JWT, or If-Match with the present generation.")
        case .unsupportedMediaType(let expected):
            Problem(
                .unsupportedMediaType, code: "unsupported-media-type", detail: "The body must be \(expected).",
                fields: [.accept: expected])
        case .invalidBody(let faults):
            Problem(
                .badRequest, code: faults.first?.code == .malformed ? "malformed-json" : "invalid-body",
                detail: "The body does not fit; errors lists every fault.")
        case .invalidParameters(let faults):
            Problem(
                .badRequest,
                code: faults.contains { $0.code == "invalid-header" } ? "invalid-header" : "invalid-parameter",
                detail: "A part of the request other than its body does not fit; errors lists every fault.")
        case .unknownInstallation:
            Problem(.notFound, code: "unknown-installation", detail: "There is no such installation.")
        case .unknownKey:
            Problem(.notFound, code: "unknown-key", detail: "The app has no such key.")
        case .tooManyItems(let max):
            Problem(.contentTooLarge, code: "too-many-items", detail: "At most \(max) items are allowed in one call.")
        case .cursorExpired:
            Problem(
                .gone, code: "cursor-expired",
                detail: "What follows this cursor cannot be told any more. Read from the beginning, without after.")
        case .outdated(let generation):
            Problem(
                .preconditionFailed, code: "outdated",
                detail: "If-Match names another generation than the present one.",
                fields: generation.map { [.eTag: ETag.make($0)] } ?? [:])
        case .changedMeanwhile(let revision):
            Problem(
                .preconditionFailed, code: "outdated",
                detail: "If-Match names another version than the present one. Read it again, and decide anew.",
                fields: revision.map { [.eTag: ETag.make($0)] } ?? [:])
        case .unusablePolicy(let reason):
            Problem(
                .serviceUnavailable, code: "unusable-policy",
                detail: "The app's stored policy cannot be used (\(reason)) PUT /v1/apps/{app} replaces it.",
                fields: [.retryAfter: "60"])
        case .sessionEnded:
            Problem(
                .conflict, code: "session-ended", detail: "This session was logged out. Sign in and register again.")
        case .unknownSegment:
            Problem(.notFound, code: "unknown-segment", detail: "The app has no such segment.")
        case .segmentCycle:
            Problem(.badRequest, code: "segment-cycle", detail: "The segment would lead back to itself.")
        case .segmentInUse:
            Problem(.conflict, code: "segment-in-use", detail: "Another segment names this one.")
        case .tooManySegments:
            Problem(.conflict, code: "too-many-segments", detail: "The app has as many segments as it may have.")
        case .tooExpensive:
            Problem(
                .unprocessableContent, code: "filter-too-expensive",
                detail: "Finding this audience takes longer than it may. Ask for less; explain tells how it is found.")
        case .store(.unavailable):
            Problem(
                .serviceUnavailable, code: "database-unavailable", detail: "The database is away. Try again.",
                fields: [.retryAfter: "1"])
        case .store(.overloaded):
            Problem(
                .serviceUnavailable, code: "overloaded", detail: "More calls wait than can be served. Try again.",
                fields: [.retryAfter: "1"])
        case .store(.failed):
            Problem(.internalServerError, code: "internal-error", detail: "The server failed to answer this request.")
        }
    }
}

extension APIError {
    /// What a handler may have thrown, as an error of the API; nil for what is none of its own.
    init?(_ error: any Error) {
        switch error {
        case let error as APIError: self = error
        case let refused as RefusedCall: self = refused.error
        case let missing as MissingKey: self = .invalidUserToken(missing.fault)
        case let error as StoreError: self = .store(error)
        case let error as JSONFaults: self = .invalidBody(error.faults)
        case RegistrationRefusal.outdated(let generation): self = .outdated(generation: generation)
        case RegistrationRefusal.sessionEnded: self = .sessionEnded
        case Logout.Refusal.notFound: self = .unknownInstallation
        case Logout.Refusal.unproven: self = .unprovenLogout
        case RemovalRefusal.outdated(let generation): self = .outdated(generation: generation)
        case PolicyRefusal.outdated(let revision): self = .changedMeanwhile(revision: revision)
        case EventRefusal.cursorExpired: self = .cursorExpired
        case RemovalRefusal.notFound: self = .unknownInstallation
        case AudienceRefusal.tooExpensive, AudienceRefusal.exportExpired: self = .tooExpensive
        case SegmentRefusal.inUse: self = .segmentInUse
        case SegmentRefusal.tooMany: self = .tooManySegments
        default: return nil
        }
    }
}

extension Duration {
    /// As `Retry-After` tells it: at least a second.
    fileprivate var wholeSecondsUp: String {
        let seconds = self / .seconds(1)
        return String(Int(min(max(1, seconds.rounded(.up)), 86_400)))
    }
}

/// An error that is a matter of who called, with the caller for the audit log.
struct RefusedCall: Error {
    let error: APIError
    let caller: Caller

    init(_ error: APIError, _ caller: Caller) {
        self.error = error
        self.caller = caller
    }
}
