import HTTPApplication
import HTTPTypes
import PushRegistry

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
