// PUT /v1/apps/{app}

import HTTPServer
import HTTPTypes
import PushRegistry

extension RegistryService {
    static let appPattern = "/v1/apps/{app}"

    /// The largest policy: a key set of some dozens of keys.
    static let policyBytesMax = 64 * 1024

    /// Creates the app, or replaces its policy. Only the admin key's holder creates apps; an app's own admin changes it.
    var putApp: Route {
        Route(.put, Self.appPattern, bodyBytesMax: Self.policyBytesMax) { request in
            let id = try? AppID(request.parameters["app"])
            let (caller, known) = try await caller(request, on: id)
            let present = id.flatMap { known.apps[$0] }
            guard caller.isMaster || (present != nil && caller.app == present?.number) else {
                throw APIError.unknownApp
            }
            guard caller.has(any: [.admin]) else {
                throw APIError.forbidden("This needs a key with the role admin.")
            }
            let body = try request.jsonBody()
            guard let id else {
                throw APIError.invalidParameters([.path("app", "An app is named by 1 to 128 of A-Z a-z 0-9 . _ -")])
            }
            let policy = try PolicyBody.parse(body, replacing: present?.policy)
            let (app, isNew) = try await directory.put(id, policy: policy)
            return .json(PolicyJSON.text(of: app), status: isNew ? .created : .ok)
        }
    }
}
