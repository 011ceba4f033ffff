import RegistryTestSupport
import Testing

extension DescribedCalls {
    /// All operations, in an order in which the resources of each one exist.
    static let order = [
        "putApp", "patchApp", "getApp", "listApps", "putTopic", "getTopic", "listTopics", "registerInstallation",
        "getInstallation", "listSnapshots", "postNotification", "listNotifications", "listHistory", "putMessage",
        "putTypedToken", "deleteTypedToken", "patchInstallationTopics", "getInstallationTopics", "patchUserTopics",
        "getUserTopics", "listUserInstallations", "listInstallationsOfUsers",
        "listTokenHistory", "putSegment", "getSegment", "listSegments", "countAudience",
        "countAudienceByQuery", "breakDownAudience", "listAudience", "trendAudience", "exportAudience", "planWaves",
        "sendFeedback",
        "releaseFeedback", "restoreFeedback",
        "sendAccepted", "sendReceipts", "getMessage", "listMessages", "breakDownMessage", "getTimeline",
        "listUndelivered", "listChanges", "logOutInstallation", "logOutUser", "endSession", "deleteSegment",
        "deleteTopic", "deleteInstallation", "eraseUser", "createKey", "listKeys", "getCaller", "listAudit",
        "listServerAudit", "listCleanUpRuns", "beginSignIn", "endSignIn", "signIn", "getSession", "getConsoleHealth",
        "getRates", "signOut", "revokeKey", "getHealth", "getReadiness",
        "getMetrics", "getDescription", "getErrors", "getLinks", "deleteApp",
    ]

    /// Sends every example of a request twice; all are accepted.
    func sendExamples() async throws {
        for id in Self.order {
            for media in try requests(id) {
                for example in document.examples(of: media.value) {
                    for _ in 0..<2 { try await accept(id, example, type: media.key) }
                }
            }
            // The examples of policies limit the rate of calls, which a fast machine exceeds.
            if id == "patchApp" { _ = try await app.send("PATCH", "", ["rateLimits": .null], by: .role(.admin)) }
        }
    }

    /// The media types of an operation's body, or one without a body.
    private func requests(_ id: String) throws -> [String: JSON] {
        let content = try operation(id).json["requestBody"]["content"].object
        return content.isEmpty ? ["": ["example": nil]] : content
    }

    private func accept(_ id: String, _ example: JSON, type: String) async throws {
        let hasBody = !type.isEmpty
        let body = id == "signIn" ? ["app": .string(app.id), "key": .string(app.key(.admin))] : example
        let isDeletion = id == "deleteApp"
        let path = isDeletion ? ["app": try await RegistryApp.make().id] : path(for: id, example)
        let response = try await call(
            id, text: hasBody ? body.text : nil, path: path,
            query: isDeletion ? "confirm=\(path["app"] ?? "")" : try query(of: id),
            by: try credential(for: id), fields: (hasBody ? [("Content-Type", type)] : []) + fields(for: id))
        #expect((200..<400).contains(response.status), "\(id) \(response.text)")
    }

    private func path(for id: String, _ example: JSON) -> [String: String] {
        switch id {
        case "registerInstallation": ["installId": example["device"]["installId"].string ?? ""]
        case "revokeKey": ["keyId": app.keyID(.client)]
        case "putTypedToken", "deleteTypedToken": ["installId": "typed"]
        default: [:]
        }
    }

    /// The query of an example that is an object (style `form`).
    private func query(of id: String) throws -> String {
        let parameters = document.parameters(of: try operation(id)).filter { $0["in"] == "query" }
        return parameters.flatMap { $0["example"].object }
            .map { name, value in "\(name)=\(value.string ?? "")" }.joined(separator: "&")
    }

    /// The first sufficient key of the app, or the admin key.
    private func credential(for id: String) throws -> RegistryApp.Credential {
        guard let roles = try operation(id).roles else { return .none }
        let fitting: [RegistryApp.Role] = [.service, .sender, .marketing, .admin]
        return fitting.first { roles.contains($0.rawValue) }.map { .role($0) } ?? .text(RunningService.adminKey)
    }

    private func fields(for id: String) -> [(String, String)] {
        guard id == "registerInstallation" else { return [] }
        return [("X-User-Id", "alice"), ("X-Session-Id", "s-81"), ("X-Session-Expires-At", "2126-12-22T09:30:00Z")]
    }
}
