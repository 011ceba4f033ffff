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
    var putApp: Route { changeOfPolicy(.put) }

    /// Changes the members that the body names (JSON Merge Patch, RFC 7396).
    var patchApp: Route { changeOfPolicy(.patch) }

    private func changeOfPolicy(_ method: HTTPRequest.Method) -> Route {
        let isPatch = method == .patch
        let route = Route(method, Self.appPattern, bodyBytesMax: Self.policyBytesMax) { request in
            let id = try? AppID(request.parameters["app"])
            let (caller, _) = try await administrator(request, of: id)
            let body = try request.jsonBody(orAs: isPatch ? "application/merge-patch+json" : nil)
            let precondition = try ETag.revisionPrecondition(request)
            guard let id else {
                throw isPatch
                    ? .unknownApp
                    : APIError.invalidParameters([
                        .path("app", "An app id is 1 to 128 characters of A-Z a-z 0-9 . _ - and neither . nor ..")
                    ])
            }
            let (app, change) = try await directory.change(id) { stored in
                if isPatch, stored == nil { throw APIError.unknownApp }
                if isPatch, case .failure(let error) = stored?.policy { throw APIError.unusablePolicy(error.reason) }
                let present = try? stored?.policy.get()
                let policy = try await parsing(body.count) {
                    try PolicyBody.parse(
                        body, changing: (isPatch ? present?.draft : nil) ?? .init(), of: id, replacing: present)
                }
                guard precondition?.holds(for: stored?.revision) ?? true else {
                    throw APIError.changedMeanwhile(revision: stored?.revision)
                }
                return PolicyChange(to: policy, from: present) { members in
                    AuditEntry(
                        stored == nil ? .appCreated : isPatch ? .policyChanged : .policyReplaced, id.rawValue,
                        members: members, by: caller, in: request)
                }
            }
            if let entry = change.entry { audit.changed(entry, by: caller, in: request) }
            let isNew = change.entry?.action == AuditEntry.Action.appCreated.rawValue
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
}

extension ServerResponse {
    static func policy(_ app: App, status: HTTPResponse.Status = .ok) -> ServerResponse {
        .json(PolicyJSON.text(of: app), status: status, fields: [.eTag: ETag.make(app.revision)])
    }
}

extension PolicyChange {
    /// - Parameters:
    ///   - present: nil: there is none, or it cannot be used.
    ///   - entry: makes the entry of the audit from the names of the changed members; it must not contain values.
    package init(to policy: AppPolicy, from present: AppPolicy?, recording entry: ([String]) -> AuditEntry) {
        let former = present?.draft ?? AppPolicy.Draft()
        let members = PolicyMember.all.filter { !$0.isEqual(policy.draft, former) }.map(\.name.description)
        self.init(policy, present != nil && members.isEmpty ? nil : entry(members))
    }
}
