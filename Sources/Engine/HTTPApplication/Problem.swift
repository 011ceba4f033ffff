public import HTTPTypes
public import HTTPWire

/// A response that reports an error of the protocol or of a handler; the application renders it.
///
/// The client sees all of it, so it must not contain secrets or internal details.
public struct Problem: Error {
    /// 4xx if the client must change the request, 5xx if the server is at fault (RFC 9110 sections 15.5 and 15.6).
    public var status: HTTPResponse.Status
    /// The kind of the fault, as a stable kebab-case code.
    public var code: String
    /// One sentence for the developer of the client.
    public var detail: String
    /// Further header fields of the response: `Allow`, `Retry-After`.
    public var fields: HTTPFields

    /// Renders nothing: `Application.renderProblem` does, when the problem is thrown.
    public init(_ status: HTTPResponse.Status, code: String, detail: String, fields: HTTPFields = [:]) {
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = fields
    }

    /// The reason of the error becomes the code.
    public init(_ error: WireError) {
        self.init(error.status, code: error.reason.rawValue, detail: error.detail)
    }
}

extension Problem {
    package static let notFound = Problem(.notFound, code: "not-found", detail: "No resource has this path.")

    package static func methodNotAllowed(allow: String) -> Problem {
        Problem(
            .methodNotAllowed, code: "method-not-allowed", detail: "This method is not supported here.",
            fields: [.allow: allow])
    }

    package static let bodyTooLarge = Problem(
        .contentTooLarge, code: "body-too-large", detail: "The body is larger than this resource accepts.")

    package static let headTimeout = Problem(
        .requestTimeout, code: "head-timeout", detail: "The header of the request did not arrive in time.")

    package static let bodyTimeout = Problem(
        .requestTimeout, code: "body-timeout", detail: "The body of the request did not arrive in time.")

    package static let handlerTimeout = Problem(
        .serviceUnavailable, code: "handler-timeout", detail: "The handler did not respond in time.",
        fields: [.retryAfter: "1"])

    package static let overloaded = Problem(
        .serviceUnavailable, code: "overloaded", detail: "The server's memory for requests is used up. Try again.",
        fields: [.retryAfter: "1"])

    package static let tooManyConnections = Problem(
        .serviceUnavailable, code: "too-many-connections", detail: "This address has too many open connections.",
        fields: [.retryAfter: "1"])

    package static let internalError = Problem(
        .internalServerError, code: "internal-error", detail: "The server failed to process this request.")
}
