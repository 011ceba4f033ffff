import PushRegistry
import RegistryJobs

extension AuditEntry {
    static func ofTest(_ action: Action, _ target: String = "test", members: [String] = []) -> AuditEntry {
        AuditEntry(action.rawValue, target, members: members, actor: "test", roles: ["admin"], requestID: "r1")
    }
}

// Changes by tests that do not read the audit.

extension AppDirectory {
    @discardableResult
    func put(_ id: AppID, policy: AppPolicy) async throws -> App {
        try await change(id) { PolicyChange(policy, .ofTest($0 == nil ? .appCreated : .policyReplaced)) }.app
    }

    func delete(_ id: AppID) async throws -> (app: DeletingApp, isNew: Bool)? {
        try await delete(id, recording: .ofTest(.appDeleted, id.rawValue))
    }

    func add(_ key: APIKey) async throws { try await add(key, recording: .ofTest(.keyCreated)) }

    func revokeKey(_ id: String, of app: AppNumber) async throws -> Bool {
        try await revokeKey(id, of: app, recording: .ofTest(.keyRevoked))
    }
}

extension TopicStore {
    func put(
        _ slug: TopicSlug, _ content: Topic.Content, in app: AppNumber
    ) async throws -> (topic: Topic, isNew: Bool) {
        try await put(slug, content, in: app, recording: .ofTest(.topicSaved))
    }

    func delete(_ slug: TopicSlug, of app: AppNumber) async throws -> Bool {
        try await delete(slug, of: app, recording: .ofTest(.topicDeleted))
    }
}

extension CleanUp {
    func undo(_ run: Int, process: String) async throws -> Undoing {
        try await undo(run, process: process, recording: .ofTest(.cleanUpUndone))
    }
}
