import HTTPApplication
import HTTPTypes
import HTTPWire
import PushRegistry

/// The parts of the console of one event loop.
public struct Console: Sendable {
    let page: ConsolePage
    let sessions: any ConsoleSessionStore
    let origin: ConsoleOrigin
    let codes: OneTimeCodes
    let provider: IdentityProvider?
    let rates: @Sendable () -> ProcessCounts
    let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - page: shared by all event loops.
    ///   - codes: shared by all event loops.
    ///   - provider: shared by all event loops; nil if people sign in by keys alone.
    ///   - rates: what this process did since its start.
    ///   - now: the clock of sessions.
    public init(
        page: ConsolePage, sessions: any ConsoleSessionStore, origin: ConsoleOrigin, codes: OneTimeCodes,
        provider: IdentityProvider? = nil, rates: @escaping @Sendable () -> ProcessCounts,
        now: @escaping @Sendable () -> Timestamp = { .now() }
    ) {
        (self.page, self.sessions, self.origin, self.codes) = (page, sessions, origin, codes)
        (self.provider, self.rates, self.now) = (provider, rates, now)
    }
}

extension RegistryService {
    static let consolePattern = "/console"

    /// The routes of the console: its page, sign-in, and every call of `/v1` that takes a credential once more, for the
    /// caller of a session. None has CORS.
    var consoleRoutes: [Route] {
        consoleCalls.map { ofConsole($0, adding: ConsoleHeaders.ofCalls) }
            + console.page.routes.map { ofConsole($0, adding: ConsoleHeaders.ofPages) }
    }

    private func ofConsole(_ route: Route, adding fields: HTTPFields) -> Route {
        route.wrapped(in: checkOrigin).wrapped(in: renderErrors).wrapped(in: ConsoleHeaders.adding(fields))
    }

    var consoleCalls: [Route] { ownConsoleCalls + Self.table.compactMap(forSession) }

    /// The calls that only the console has.
    var ownConsoleCalls: [Route] { [getSession, signIn, signOut, beginSignIn, endSignIn, consoleHealth, consoleRates] }

    /// The route of `/v1` for the caller of a session: the same handler, of a service that authenticates by the
    /// session. Nil for a route that takes no credential.
    private func forSession(_ property: @escaping @Sendable (RegistryService) -> Route) -> Route? {
        let route = property(self)
        guard route.pattern.hasPrefix("/v1/"), route.pattern != Self.receiptsPattern else { return nil }
        let ofSession = Route(
            route.method, Self.consolePattern + route.pattern, bodyBytesMax: route.bodyBytesMax
        ) { request in
            try await acting(for: request) { try await property($0).handler(request) }
        }
        return ofSession.admitting { request in
            try await acting(for: request) { try await property($0).admit?(request) ?? ServerResponse(.continue) }
        }
    }

    /// Lends the service for the caller of the request's session, and records that the session is in use. It ends if no
    /// group of its person has a role.
    ///
    /// - Throws: what `body` throws; `APIError.signedOut`, `.tooManyFailedAuthentications`; `StoreError`.
    func acting<Value>(
        for request: ServerRequest, _ body: (RegistryService) async throws -> Value
    ) async throws -> Value {
        guard let (presented, session) = try await session(of: request) else { throw APIError.signedOut }
        let now = console.now()
        if session.needsRecord(ofUseAt: now) { try await console.sessions.recordUse(of: presented.sha256, at: now) }
        var service = self
        service.authentication = .session(session)
        do { return try await body(service) } catch APIError.signedOut {
            try await end(session, of: presented)
            throw APIError.signedOut
        }
    }

    private func checkOrigin(_ next: @escaping Handler) -> Handler {
        { request in
            try console.origin.check(request.head)
            return try await next(request)
        }
    }
}

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
