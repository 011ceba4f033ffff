// GET /v1/apps/{app}/audit
// GET /v1/audit

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Who changed what in the app, the newest first.
    var listAudit: Route {
        appRoute(.get, "/v1/apps/{app}/audit", allowing: [.admin]) { request, call in
            try await auditPage(request, of: call.app.number, in: call.directory)
        }
    }

    /// What belongs to no app: deletions of apps, and undone clean-ups.
    var listServerAudit: Route {
        Route(.get, "/v1/audit") { request in
            let (caller, directory) = try await caller(request)
            guard caller.isServerAdmin else {
                throw RefusedCall(.forbidden("Only the admin key may read what belongs to no app."), caller)
            }
            return try await auditPage(request, of: nil, in: directory)
        }
    }

    private func auditPage(
        _ request: ServerRequest, of app: AppNumber?, in directory: DirectorySnapshot
    ) async throws -> ServerResponse {
        var query = try QueryParameters(request, ["limit", "after", "action", "actor"])
        let limit = query.integer("limit", in: PageLimits.allowed) ?? PageLimits.standard
        let after = query.cursor("after") { Int64($0).flatMap { $0 > 0 ? $0 : nil } }
        let action = query.parsed("action") { (text) throws(InvalidValue) in
            guard let action = AuditEntry.Action(rawValue: text) else {
                let known = AuditEntry.Action.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidValue(code: "unknown-value", detail: "This must be one of \(known).")
            }
            return action
        }
        let actor = query["actor"]
        try query.check()
        // One more entry than requested shows whether another page follows.
        let found = try await auditEntries.entries(
            of: app, action: action, actor: actor, before: after, limit: limit + 1)
        return .json(capacity: 4_096) { writer in
            writer.objects("entries", found.prefix(limit)) { $0.about($1, in: directory) }
            writer.member("next", found.count > limit ? "\(found[limit - 1].number)" : nil)
        }
    }
}

extension JSONWriter {
    /// - Parameter directory: has the names of keys.
    package mutating func about(_ recorded: RecordedAuditEntry, in directory: DirectorySnapshot) {
        let entry = recorded.entry
        member("id", "\(recorded.number)")
        member("at", recorded.at.description)
        member("action", entry.action)
        member("target", entry.target)
        member("members", entry.members)
        member("actor", entry.actor)
        member("actorName", entry.actorName(in: directory))
        member("roles", entry.roles)
        member("requestId", entry.requestID)
    }
}

extension AuditEntry {
    /// The name of the person or of the actor's key; nil if none acted, and of a revoked key that is forgotten.
    package func actorName(in directory: DirectorySnapshot) -> String? {
        if let person { return person }
        let parts = actor.split(separator: ":", maxSplits: 1).map(String.init)
        return parts.count == 2 && Role(rawValue: parts[0]) != nil ? directory.key(parts[1])?.name : nil
    }
}
