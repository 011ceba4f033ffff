// GET /v1/apps

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
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
            var writer = JSONWriter()
            writer.object { writer in
                writer.name("apps")
                writer.array { writer in
                    for app in shown.compactMap({ directory.apps[$0] }) { PolicyJSON.write(app, to: &writer) }
                }
                writer.name("unusable")
                writer.array { writer in
                    for app in shown.compactMap({ directory.unusable[$0] }) {
                        writer.object { writer in
                            writer.member("app", app.id.rawValue)
                            writer.member("reason", app.reason)
                        }
                    }
                }
                writer.member("next", ids.count > shown.count ? shown.last?.rawValue : nil)
            }
            return .json(writer)
        }
    }
}
