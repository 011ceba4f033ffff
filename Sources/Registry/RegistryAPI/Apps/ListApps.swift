// GET /v1/apps

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var listApps: Route {
        Route(.get, "/v1/apps") { request in
            let (caller, directory) = try await caller(request)
            guard caller.isServerAdmin else {
                throw RefusedCall(.forbidden("Only the admin key may list all apps."), caller)
            }
            var writer = JSONWriter()
            writer.object { writer in
                writer.name("apps")
                writer.array { writer in
                    for app in directory.apps.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
                        PolicyJSON.write(app, to: &writer)
                    }
                }
                writer.name("unusable")
                writer.array { writer in
                    for app in directory.unusable.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
                        writer.object { writer in
                            writer.member("app", app.id.rawValue)
                            writer.member("reason", app.reason)
                        }
                    }
                }
            }
            return .json(writer)
        }
    }
}
