import HTTPTypes
import HTTPWire

/// Cross-origin resource sharing (the Fetch standard's CORS protocol): lets web pages of some origins call routes and
/// read their responses.
///
/// The browser's credentials, such as cookies, are never shared: a page's rights depend on the credential that it sends
/// itself. A page of any other origin gets a response without CORS fields, which its browser hides from it.
public struct CrossOriginSharing: Sendable {
    /// Request fields that pages may set, in addition to those that CORS always allows.
    public var requestFields: [HTTPField.Name] = []

    /// Response fields that pages may read, in addition to those that CORS always allows.
    public var responseFields: [HTTPField.Name] = []

    /// How long a browser may cache the response to a preflight (`Access-Control-Max-Age`). An origin may keep its
    /// access for so long after it was removed.
    public var preflightAgeMax: Duration = .seconds(600)

    /// Nil if pages of every origin may make all requests.
    private let allowsOrigin: (@Sendable (_ origin: String, ServerRequest) async -> Bool)?

    /// Pages of every origin may make all requests.
    public init() {
        allowsOrigin = nil
    }

    /// - Parameter allowsOrigin: whether pages of this origin may make this request. It is called for preflights and
    ///   after each request, also after one that was refused: strangers can call it as often as they like.
    public init(allowsOrigin: @escaping @Sendable (_ origin: String, ServerRequest) async -> Bool) {
        self.allowsOrigin = allowsOrigin
    }

    /// The routes with CORS, plus an OPTIONS route at each of their patterns, which responds to preflights.
    public func share(_ routes: [Route]) -> [Route] {
        let methods = Dictionary(grouping: routes, by: \.pattern).mapValues { $0.map(\.method) }
        return routes.map { $0.wrapped(in: share) } + methods.map { preflight($0, Router.allow($1)) }
    }
}

// MARK: - Preflights

extension CrossOriginSharing {
    /// If the origin is not allowed, this is the response to any OPTIONS request: it does not reveal why.
    private func preflight(_ pattern: String, _ allow: String) -> Route {
        Route(.options, pattern) { request in
            var response = ServerResponse(.noContent, fields: [.allow: allow])
            if allowsOrigin != nil { response.fields.vary(by: HTTPField.Name.origin.rawName) }
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
        guard let allowsOrigin else { return "*" }
        guard let origin = request.head[.origin], await allowsOrigin(origin, request) else { return nil }
        return origin
    }

    private func list(_ names: [HTTPField.Name]) -> String {
        names.map(\.rawName).joined(separator: ", ")
    }
}

// MARK: - Responses

extension CrossOriginSharing {
    /// Adds the fields that let an allowed page read the response, also to a problem.
    private func share(_ next: @escaping Handler) -> Handler {
        { request in
            do {
                var response = try await next(request)
                add(await allowedOrigin(request), to: &response.fields, request)
                return response
            } catch {
                guard var problem = error as? Problem ?? (error as? WireError).map(Problem.init) else { throw error }
                add(await allowedOrigin(request), to: &problem.fields, request)
                throw problem
            }
        }
    }

    private func add(_ origin: String?, to fields: inout HTTPFields, _ request: ServerRequest) {
        // Caches keep responses to GET and HEAD only, so other methods get `Vary` only if a page asked.
        if allowsOrigin != nil, origin != nil || request.method == .get || request.method == .head {
            fields.vary(by: HTTPField.Name.origin.rawName)
        }
        guard let origin else { return }
        fields[.accessControlAllowOrigin] = origin
        fields[.accessControlExposeHeaders] = list(responseFields)
    }
}
