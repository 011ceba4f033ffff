// PUT /v1/apps/{app}
// PATCH /v1/apps/{app}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
    static let appPattern = "/v1/apps/{app}"

    /// Enough for a key set of some dozens of keys.
    static let policyBytesMax = 64 * 1024

    /// Creates the app or replaces its policy. The admin key may do both; a key of the app with the role admin may only
    /// replace the policy.
    var putApp: Route {
        let route = Route(.put, Self.appPattern, bodyBytesMax: Self.policyBytesMax) { request in
            let id = try? AppID(request.parameters["app"])
            let (caller, known) = try await administrator(request, of: id)
            let body = try request.jsonBody()
            guard let id else {
                throw APIError.invalidParameters([
                    .path("app", "An app id is 1 to 128 characters of A-Z a-z 0-9 . _ - and neither . nor ..")
                ])
            }
            let present = known.apps[id]?.policy
            let precondition = try ETag.revisionPrecondition(request)
            let policy = try await parsing(body.count) {
                try PolicyBody.parse(body, changing: AppPolicy.Draft(), of: id, replacing: present)
            }
            let entry = AuditEntry(
                .policyReplaced, id.rawValue, members: policy.draft.changes(since: present?.draft), by: caller,
                in: request)
            let (app, isNew) = try await directory.put(id, policy: policy, if: precondition, recording: entry)
            audit.changed(isNew ? entry.creatingApp : entry, by: caller, in: request)
            return .policy(app, status: isNew ? .created : .ok)
        }
        return route.admitting(admitAdministrator)
    }

    /// The check of a head for calls of administrators.
    @Sendable func admitAdministrator(_ request: ServerRequest) async throws -> ServerResponse {
        _ = try await administrator(request, of: try? AppID(request.parameters["app"]))
        return ServerResponse(.continue)
    }

    /// The caller, if it may change the app's policy. The admin key may change any app, also one that does not exist or
    /// whose policy cannot be used. A key with the role admin may change its own app.
    ///
    /// - Throws: `APIError`: 401, 404 and 403, checked in this order; `StoreError`.
    func administrator(
        _ request: ServerRequest, of id: AppID?
    ) async throws -> (caller: Caller, known: DirectorySnapshot) {
        let (caller, known) = try await caller(request, on: id)
        if let id, known.deleting[id] != nil { throw RefusedCall(.unknownApp, caller) }
        let number = id.flatMap { known.apps[$0]?.number ?? known.unusable[$0]?.number }
        guard caller.isServerAdmin || (number != nil && caller.app == number) else {
            throw RefusedCall(.unknownApp, caller)
        }
        try caller.requireAdmin()
        return (caller, known)
    }

    /// The attempts of a patch without `If-Match` while other changes of the policy win the race.
    private static let patchAttemptsMax = 32

    /// Changes the members that the body names (JSON Merge Patch, RFC 7396).
    var patchApp: Route {
        let route = Route(.patch, Self.appPattern, bodyBytesMax: Self.policyBytesMax) { request in
            let id = try? AppID(request.parameters["app"])
            let (caller, _) = try await administrator(request, of: id)
            let body = try request.jsonBody(orAs: "application/merge-patch+json")
            let precondition = try ETag.revisionPrecondition(request)
            for _ in 1...Self.patchAttemptsMax {
                guard let id, let app = try await usableApp(id) else { throw APIError.unknownApp }
                let policy = try await parsing(body.count) {
                    try PolicyBody.parse(body, changing: app.policy.draft, of: id, replacing: app.policy)
                }
                guard precondition?.holds(for: app.revision) ?? true else {
                    throw PolicyRefusal.outdated(revision: app.revision)
                }
                do {
                    let entry = AuditEntry(
                        .policyChanged, id.rawValue, members: policy.draft.changes(since: app.policy.draft),
                        by: caller, in: request)
                    let (changed, _) = try await directory.put(
                        id, policy: policy, if: .revisions([app.revision]), recording: entry)
                    audit.changed(entry, by: caller, in: request)
                    return .policy(changed)
                } catch PolicyRefusal.outdated where precondition == nil {
                    continue
                }
            }
            throw StoreError.overloaded
        }
        return route.admitting(admitAdministrator)
    }

    /// - Throws: `APIError.unusablePolicy`, `StoreError`.
    private func usableApp(_ id: AppID) async throws -> App? {
        let directory = try await directory.current()
        if let unusable = directory.unusable[id] { throw APIError.unusablePolicy(unusable.reason) }
        return directory.apps[id]
    }
}

extension ServerResponse {
    static func policy(_ app: App, status: HTTPResponse.Status = .ok) -> ServerResponse {
        .json(PolicyJSON.text(of: app), status: status, fields: [.eTag: ETag.make(app.revision)])
    }
}

extension AppPolicy.Draft {
    /// The names of the changed members, for the audit, which must not contain values.
    package func changes(since former: AppPolicy.Draft?) -> [String] {
        let former = former ?? AppPolicy.Draft()
        return PolicyMember.all.filter { !$0.isEqual(self, former) }.map(\.name.description)
    }
}
