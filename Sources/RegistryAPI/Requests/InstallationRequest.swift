import HTTPServer
import HTTPTypes
import PushRegistry

extension RegistryService {
    /// The installation that the path names, and on whose behalf the caller asks for it.
    ///
    /// - Throws: `APIError`: 403 if a client names a user, 401 for a JWT from before a logout (R7), 400 for wrong
    ///   headers; `StoreError`.
    func installation(
        of request: ServerRequest, in call: AppCall
    ) async throws -> (key: InstallationKey, requester: Requester) {
        try call.caller.checkNaming(in: request)
        let key = InstallationKey(app: call.app.number, installID: try InstallID(request))
        if let token = call.caller.user {
            let hasEnded = try await users.hasEnded(
                UserCredential(owner: token.owner, issuedAt: token.issuedAt), on: key,
                remembering: call.app.policy.sessionTombstones)
            guard !hasEnded else { throw RefusedCall(.endedCredential, call.caller) }
        }
        return (key, try Requester(request, by: call.caller))
    }

    /// - Throws: `APIError.unknownInstallation` if a service names a user whose installation this is not; `StoreError`.
    func checkOwner(of key: InstallationKey, for requester: Requester) async throws {
        guard requester != .service else { return }
        guard let record = try await store.installation(key), requester.owns(installationOf: record.installation.owner)
        else { throw APIError.unknownInstallation }
    }
}

extension Requester {
    /// The user of a JWT, or the user that a service names: then the service gets what that user's JWT would get.
    ///
    /// - Throws: 400 for values that are no identifiers.
    fileprivate init(_ request: ServerRequest, by caller: Caller) throws(APIError) {
        if let owner = try Owner(request, by: caller) {
            self = .user(owner.userID)
        } else {
            self = caller.isService ? .service : .anonymous
        }
    }
}
