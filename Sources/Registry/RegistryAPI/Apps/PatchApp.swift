// PATCH /v1/apps/{app}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
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
