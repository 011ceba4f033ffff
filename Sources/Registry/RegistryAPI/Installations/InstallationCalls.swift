// GET /v1/apps/{app}/installations/{installId}
// DELETE /v1/apps/{app}/installations/{installId}
// GET /v1/apps/{app}/installations/{installId}/snapshots

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// The installation in the path, and the party for which the caller acts.
    ///
    /// - Throws: `APIError`: 403 if a client names a user, 400 for invalid headers.
    func installation(
        of request: ServerRequest, in call: AppCall
    ) throws -> (key: InstallationKey, requester: Requester) {
        try call.caller.checkActingHeaders(in: request)
        let key = InstallationKey(app: call.app.number, installID: try InstallID(request))
        return (key, try Requester(request, by: call.caller))
    }

    /// R7: checks that no logout has ended the JWT. A check after a read says that no logout ended the JWT before the
    /// read.
    ///
    /// - Parameter key: the installation of the call; nil if the call concerns no installation.
    /// - Throws: 401 for an ended JWT; `StoreError`.
    func checkCredential(of call: AppCall, on key: InstallationKey?) async throws {
        guard let credential = call.caller.credential else { return }
        let hasEnded = try await users.hasEnded(
            credential, on: key, in: call.app.number, remembering: call.app.policy.sessionTombstones)
        guard !hasEnded else { throw RefusedCall(.endedCredential, call.caller) }
    }

    /// Checks that the installation belongs to the user that a service names.
    ///
    /// - Throws: `APIError.unknownInstallation`; `StoreError`.
    func checkOwner(of key: InstallationKey, for requester: Requester) async throws {
        guard requester != .service else { return }
        guard let record = try await installations.installation(key),
            requester.owns(installationOf: record.installation.owner)
        else { throw APIError.unknownInstallation }
    }

    var getInstallation: Route {
        appRoute(.get, Self.installationPattern, allowing: [.client, .service, .support]) { request, call in
            let (key, requester) = try installation(of: request, in: call)
            // A logout that excepts the session of an older JWT makes it valid: the read must come afterwards, too.
            try await checkCredential(of: call, on: key)
            let found = try await installations.installation(key)
            try await checkCredential(of: call, on: key)
            guard let record = found, requester.owns(installationOf: record.installation.owner) else {
                throw APIError.unknownInstallation
            }
            var writer = JSONWriter(capacity: 2_048)
            writer.installation(record, showing: RecordAudience(call.caller))
            return .json(writer, fields: [.eTag: ETag.make(record.installation.generation)])
        }
    }

    var deleteInstallation: Route {
        appRoute(.delete, Self.installationPattern, allowing: [.client, .service]) { request, call in
            let (key, requester) = try installation(of: request, in: call)
            try await checkCredential(of: call, on: key)
            let deletion = Deletion(
                key: key, requester: requester, credential: call.caller.credential,
                sessionTombstones: call.app.policy.sessionTombstones, precondition: try ETag.precondition(request),
                actor: call.caller.actor)
            do {
                try await installations.delete(deletion)
            } catch DeletionRefusal.credentialEnded {
                throw RefusedCall(.endedCredential, call.caller)
            }
            return ServerResponse(.noContent)
        }
    }

    var listSnapshots: Route {
        appRoute(.get, Self.installationPattern + "/snapshots", allowing: [.service, .support]) { request, call in
            let page = try PageRequest(request) { Int64($0) }
            let (key, requester) = try installation(of: request, in: call)
            try await checkOwner(of: key, for: requester)
            guard let found = try await installations.snapshots(of: key, before: page.after, limit: page.limit) else {
                throw APIError.unknownInstallation
            }
            return .json(capacity: 4_096) { writer in
                writer.objects("snapshots", found.snapshots) { writer, entry in
                    writer.member("at", entry.at.description)
                    writer.snapshot(entry.snapshot)
                }
                writer.member("next", found.next.map { String($0) })
            }
        }
    }
}

extension Requester {
    /// The user of a JWT, or the user that a service names: then the service gets the response that the user would get.
    /// The role `support` may read everything that a service may read.
    ///
    /// - Throws: 400 for invalid identifiers.
    fileprivate init(_ request: ServerRequest, by caller: Caller) throws(APIError) {
        if let owner = try Owner(request, by: caller) {
            self = .user(owner.userID)
        } else {
            self = caller.readsAllUsers ? .service : .anonymous
        }
    }
}
