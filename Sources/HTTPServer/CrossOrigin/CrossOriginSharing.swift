import HTTPTypes
import HTTPWire

/// Cross-origin resource sharing (the Fetch standard's CORS protocol): lets web pages of some origins call routes and
/// read their answers.
///
/// Credentials of the browser, such as cookies, are never shared: what a page may do depends on the credential that
/// it sends itself. A page of another origin gets an answer without a word of CORS, which its browser then keeps from
/// it.
public struct CrossOriginSharing: Sendable {
    /// Request fields that pages may set, beyond those that they always may.
    public var requestFields: [HTTPField.Name] = []

    /// Answer fields that pages may read, beyond those that they always may.
    public var answerFields: [HTTPField.Name] = []

    /// How long a browser may remember a preflight's answer: as long as it takes until an origin that is no longer
    /// allowed is asked about again.
    public var preflightAgeMax: Duration = .seconds(600)

    private let allowsOrigin: @Sendable (_ origin: String, ServerRequest) async -> Bool

    /// - Parameter allowsOrigin: whether pages of this origin may make this request. It is asked before anybody is
    ///   authenticated.
    public init(allowsOrigin: @escaping @Sendable (_ origin: String, ServerRequest) async -> Bool) {
        self.allowsOrigin = allowsOrigin
    }

    /// The routes, shared, and with one for OPTIONS at each of their patterns, which answers preflights.
    public func share(_ routes: [Route]) -> [Route] {
        let methods = Dictionary(grouping: routes, by: \.pattern).mapValues { $0.map(\.method) }
        return routes.map { $0.wrapped(in: [share]) } + methods.map { preflight($0, Router.allow($1)) }
    }
}

// MARK: - Preflights

extension CrossOriginSharing {
    /// Without an allowed origin this is the answer to any OPTIONS: it does not tell why.
    private func preflight(_ pattern: String, _ allow: String) -> Route {
        Route(.options, pattern) { request in
            var response = ServerResponse(.noContent, fields: [.allow: allow, .vary: HTTPField.Name.origin.rawName])
            guard request.head.contains(.accessControlRequestMethod), let origin = await allowedOrigin(request) else {
                return response
            }
            response.fields[.accessControlAllowOrigin] = origin
            response.fields[.accessControlAllowMethods] = allow
            response.fields[.accessControlAllowHeaders] = list(requestFields)
            response.fields[.accessControlMaxAge] = String(preflightAgeMax.components.seconds)
            return response
        }
    }

    private func allowedOrigin(_ request: ServerRequest) async -> String? {
        guard let origin = request.head[.origin], await allowsOrigin(origin, request) else { return nil }
        return origin
    }

    private func list(_ names: [HTTPField.Name]) -> String {
        names.map(\.rawName).joined(separator: ", ")
    }
}

// MARK: - Answers

extension CrossOriginSharing {
    /// Adds what lets an allowed page read the answer, a problem too.
    private func share(_ request: ServerRequest, _ next: Handler) async throws -> ServerResponse {
        let origin = await allowedOrigin(request)
        do {
            var response = try await next(request)
            add(origin, to: &response.fields, request)
            return response
        } catch {
            guard var problem = error as? Problem ?? (error as? WireError).map(Problem.init) else { throw error }
            add(origin, to: &problem.fields, request)
            throw problem
        }
    }

    private func add(_ origin: String?, to fields: inout HTTPFields, _ request: ServerRequest) {
        // Caches keep answers to GET and HEAD only; the others are spared the bytes unless a page asked.
        if origin != nil || request.method == .get || request.method == .head {
            fields.vary(by: HTTPField.Name.origin.rawName)
        }
        guard let origin else { return }
        fields[.accessControlAllowOrigin] = origin
        fields[.accessControlExposeHeaders] = list(answerFields)
    }
}
