// DELETE /v1/apps/{app}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Begins to delete the app and all that it has. A repeated call only reports the progress.
    var deleteApp: Route {
        Route(.delete, Self.appPattern) { request in
            let id = try? AppID(request.parameters["app"])
            let (caller, known) = try await caller(request, on: id)
            let number = id.flatMap {
                known.apps[$0]?.number ?? known.unusable[$0]?.number ?? known.deleting[$0]?.number
            }
            guard let id, let number, caller.isServerAdmin || caller.app == number else {
                throw RefusedCall(.unknownApp, caller)
            }
            guard caller.isServerAdmin else {
                throw RefusedCall(.forbidden("Only the admin key may delete an app."), caller)
            }
            let query = try QueryParameters(request, ["confirm"])
            try query.check()
            guard query["confirm"] == id.rawValue else {
                throw APIError.invalidParameters([
                    .query("confirm", "invalid-parameter", "This must be the id of the app.")
                ])
            }
            let entry = AuditEntry(.appDeleted, id.rawValue, by: caller, in: request)
            guard let (app, isNew) = try await directory.delete(id, recording: entry) else { throw APIError.unknownApp }
            if isNew { audit.changed(entry, by: caller, in: request) }
            return .progress(of: app, left: try await directory.installationsLeft(of: app.number), status: .accepted)
        }
    }
}

extension ServerResponse {
    /// How far the deletion of an app is.
    static func progress(
        of app: DeletingApp, left: Int64, status: HTTPResponse.Status = .ok
    ) -> ServerResponse {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("app", app.id.rawValue)
            writer.name("deleting")
            writer.object { writer in
                writer.member("since", app.since.description)
                writer.member("installationsLeft", left)
            }
        }
        return .json(writer, status: status)
    }
}
