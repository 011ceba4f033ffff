import HTTPApplication
import HTTPTypes
import HTTPWire

/// The fields of every response below `/console`, which limit what a browser does with it.
enum ConsoleHeaders {
    /// The page loads and calls only what the service itself serves, nobody may frame it, and no script can turn text
    /// into markup.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    static let ofPages: HTTPFields = [
        .contentSecurityPolicy: policy, .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
        .crossOriginOpenerPolicy: "same-origin", .crossOriginResourcePolicy: "same-origin",
    ]

    /// The responses to calls contain personal data.
    static let ofCalls: HTTPFields = {
        var fields = ofPages
        fields[.cacheControl] = "no-store"
        return fields
    }()

    static func adding(_ fields: HTTPFields) -> Middleware {
        { next in
            { request in
                var response = try await next(request)
                response.fields.set(fields)
                return response
            }
        }
    }

    /// The fields of a response that the HTTP engine makes itself, such as a 404.
    @Sendable static func ofOwnResponses(_ head: RequestHead) -> HTTPFields {
        let path = head.path
        guard path.starts(with: RegistryService.consolePattern.utf8) else { return [:] }
        let next = path.dropFirst(RegistryService.consolePattern.utf8.count).first
        return next == nil || next == UInt8(ascii: "/") ? ofPages : [:]
    }
}

extension HTTPFields {
    fileprivate mutating func set(_ fields: HTTPFields) {
        for field in fields { self[field.name] = field.value }
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    fileprivate static let crossOriginOpenerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
}
