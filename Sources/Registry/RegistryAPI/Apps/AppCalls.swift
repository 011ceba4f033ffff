// GET /v1/apps/{app}
// GET /v1/apps
// DELETE /v1/apps/{app}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var getApp: Route {
        let route = appRoute(.get, Self.appPattern, allowing: [.admin]) { request, call in
            return .policy(call.app)
        }
        return route.wrapped { next in
            { request in
                do {
                    return try await next(request)
                } catch let refused as RefusedCall where refused.caller.isServerAdmin {
                    let id = try? AppID(request.parameters["app"])
                    guard let app = id.flatMap({ directory.lastRead.deleting[$0] }) else { throw refused }
                    return .progress(of: app, left: try await directory.installationsLeft(of: app.number))
                }
            }
        }
    }

    /// In the order of the ids; all apps without `limit`. A page counts the apps of both lists.
    var listApps: Route {
        Route(.get, "/v1/apps") { request in
            let (caller, directory) = try await caller(request)
            guard caller.isServerAdmin else {
                throw RefusedCall(.forbidden("Only the admin key may list all apps."), caller)
            }
            let page = try PageRequest(request, standard: .max) { try? AppID($0).rawValue }
            let ids = (Array(directory.apps.keys) + directory.unusable.keys)
                .filter { $0.rawValue > page.after ?? "" }.sorted { $0.rawValue < $1.rawValue }
            let shown = ids.prefix(page.limit)
            return .json { writer in
                writer.array("apps", shown.compactMap { directory.apps[$0] }) { PolicyJSON.write($1, to: &$0) }
                writer.objects("unusable", shown.compactMap { directory.unusable[$0] }) { writer, app in
                    writer.member("app", app.id.rawValue)
                    writer.member("reason", app.reason)
                }
                writer.member("next", ids.count > shown.count ? shown.last?.rawValue : nil)
            }
        }
    }

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
        return .json(status: status) { writer in
            writer.member("app", app.id.rawValue)
            writer.object("deleting") { writer in
                writer.member("since", app.since.description)
                writer.member("installationsLeft", left)
            }
        }
    }
}
