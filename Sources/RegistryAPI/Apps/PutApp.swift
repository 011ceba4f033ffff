// PUT /v1/apps/{app}

import HTTPServer
import HTTPTypes
import PushRegistry

extension RegistryService {
    static let appPattern = "/v1/apps/{app}"

    /// The largest policy: a key set of some dozens of keys.
    static let policyBytesMax = 64 * 1024

    /// Creates the app, or replaces its policy. Only the admin key's holder creates apps; an app's own admin changes
    /// it.
    var putApp: Route {
        Route(.put, Self.appPattern, bodyBytesMax: Self.policyBytesMax) { request in
            let id = try? AppID(request.parameters["app"])
            let (caller, known) = try await administrator(request, of: id)
            let body = try request.jsonBody()
            guard let id else {
                throw APIError.invalidParameters([
                    .path("app", "An app is named by 1 to 128 of A-Z a-z 0-9 . _ - and neither . nor ..")
                ])
            }
            let present = known.apps[id]?.policy
            let precondition = try ETag.revisionPrecondition(request)
            let policy = try PolicyBody.parse(body, changing: AppPolicy.Draft(), of: id, replacing: present)
            let (app, isNew) = try await directory.put(id, policy: policy, if: precondition)
            audit.changed(
                isNew ? "app created" : "policy replaced", policy.draft.changes(since: present?.draft), of: app.id,
                by: caller, in: request)
            return .policy(app, status: isNew ? .created : .ok)
        }
    }

    /// The caller, who may change the app: the admin key's holder any, also one that does not exist or whose policy
    /// cannot be used; an app's admin their own.
    ///
    /// - Throws: 401, 404 and 403 in this order, as `APIError`; `StoreError`.
    func administrator(
        _ request: ServerRequest, of id: AppID?
    ) async throws -> (caller: Caller, known: DirectorySnapshot) {
        let (caller, known) = try await caller(request, on: id)
        let number = id.flatMap { known.apps[$0]?.number ?? known.unusable[$0]?.number }
        guard caller.isServerAdmin || (number != nil && caller.app == number) else {
            throw RefusedCall(.unknownApp, caller)
        }
        guard caller.has(any: [.admin]) else {
            throw RefusedCall(.forbidden("This needs a key with the role admin."), caller)
        }
        return (caller, known)
    }
}

extension ServerResponse {
    static func policy(_ app: App, status: HTTPResponse.Status = .ok) -> ServerResponse {
        .json(PolicyJSON.text(of: app), status: status, fields: [.eTag: ETag.make(app.revision)])
    }
}

extension AppPolicy.Draft {
    /// The names of the members that differ, for the audit log: the values are nobody's business there.
    func changes(since former: AppPolicy.Draft?) -> [String] {
        let former = former ?? AppPolicy.Draft()
        let members: [(String, Bool)] = [
            ("touchInterval", touchInterval == former.touchInterval), ("staleAfter", staleAfter == former.staleAfter),
            ("retention", retention == former.retention), ("grace", grace == former.grace),
            ("sessionTombstones", sessionTombstones == former.sessionTombstones),
            ("storeAdvertisingId", storesAdvertisingID == former.storesAdvertisingID),
            ("allowedOrigins", allowedOrigins == former.allowedOrigins), ("jwks", jwks == former.jwks),
            ("jwksURL", jwksURL == former.jwksURL),
            ("jwtIssuer", jwtIssuer == former.jwtIssuer), ("jwtAudience", jwtAudience == former.jwtAudience),
            ("sessionExpiryClaim", sessionExpiryClaim == former.sessionExpiryClaim),
            ("allowIncompleteTokens", allowsIncompleteTokens == former.allowsIncompleteTokens),
            ("rateLimits", rateLimits == former.rateLimits),
        ]
        return members.filter { !$0.1 }.map(\.0)
    }
}
