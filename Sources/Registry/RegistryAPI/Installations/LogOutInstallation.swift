// POST /v1/apps/{app}/installations/{installId}/logout

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// How long after its expiry a JWT may still log out its user: the app may have been offline.
    static let logoutLateness = ISO8601Duration.days(30)

    static let logoutBytesMax = 4 * 1024

    var logOutInstallation: Route {
        appRoute(
            .post, Self.installationPattern + "/logout", allowing: [.client, .service],
            lateness: Self.logoutLateness, bodyBytesMax: Self.logoutBytesMax
        ) { request, call in
            try call.caller.checkActingHeaders(in: request)
            let body = try request.jsonBody()
            let requester = try Logout.Initiator(request, by: call.caller)
            let installID = try InstallID(request)
            let logout = Logout(
                key: InstallationKey(app: call.app.number, installID: installID), requester: requester,
                reader: call.caller.isService ? .service : nil, keepsAnonymous: try LogoutBody.keepsAnonymous(body),
                precondition: try ETag.precondition(request),
                proof: deliveryProof(of: request, on: installID, in: call), catalogue: call.app.topics,
                actor: call.caller.actor)
            let (status, generation) = try await logOut(logout, by: call.caller)
            return .json(fields: generation.map { [.eTag: ETag.make($0)] } ?? [:]) { writer in
                writer.member("status", status.rawValue)
                if let generation { writer.member("generation", generation) }
            }
        }
    }

    private func logOut(
        _ logout: Logout, by caller: Caller
    ) async throws -> (status: Logout.Status, generation: Int64?) {
        do {
            return try await users.logOut(logout)
        } catch Logout.Refusal.unproven {
            throw RefusedCall(.unprovenLogout, caller)
        }
    }
}

/// `{keepAnonymous?}`, or an empty body.
enum LogoutBody {
    static func keepsAnonymous(_ body: [UInt8]) throws -> Bool {
        try !body.isEmpty && JSONObject.read(body) { $0.boolean("keepAnonymous") ?? false }
    }
}

extension Logout.Initiator {
    /// The user of a JWT, or the user that a service names.
    fileprivate init(_ request: ServerRequest, by caller: Caller) throws(APIError) {
        if let owner = try Owner(request, by: caller) {
            self = .user(owner, credentialIssuedAt: caller.user?.issuedAt)
        } else {
            self = caller.isService ? .service : .anonymous
        }
    }
}
