// PUT /v1/apps/{app}/installations/{installId}

import Crypto
import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    static let installationPattern = "/v1/apps/{app}/installations/{installId}"

    var putInstallation: Route {
        let route = Route(.put, Self.installationPattern, bodyBytesMax: bodyLimits.registrationBytesMax) { request in
            let last = directory.lastRead
            var isCounted = false
            let first = Result { try registration(request, in: last, &isCounted) }
            if case .success(let (accepted, call)) = first {
                do {
                    return try await register(accepted, ifDirectoryIs: last.version, in: call)
                } catch is DirectoryChanged {}
            }
            let current = try await currentDirectory(for: request)
            let (accepted, call) = try await keySets.fetchingMissingKey(first: current === last ? first : nil) {
                try registration(request, in: current, &isCounted)
            }
            return try await register(accepted, ifDirectoryIs: nil, in: call)
        }
        return route.admitting(admission(allowing: Self.registrants))
    }

    private static let registrants: Roles = [.client, .service]

    /// The registration of a request, authorized by a directory. The store reads its body, if it differs from the last
    /// one.
    ///
    /// The handler first uses the last snapshot of the directory; the store checks in the same round trip that it is
    /// still current. If the request is refused, or the directory has changed, the handler repeats the authorization
    /// with the current directory. So new keys, revoked keys and new policies count from the next request on.
    private func registration(
        _ request: ServerRequest, in directory: DirectorySnapshot, _ isCounted: inout Bool
    ) throws -> (SentRegistration, AppCall) {
        let call = try appCall(request, allowing: Self.registrants, in: directory, isCounted: &isCounted)
        try call.caller.checkActingHeaders(in: request)
        let bytes = try request.jsonBody()
        let owner = try Owner(request, by: call.caller)
        let key = InstallationKey(app: call.app.number, installID: try InstallID(request))
        let claim = RegistrationClaim(
            of: call.app, owner: owner, by: authority(of: request, on: key.installID, in: call),
            credentialIssuedAt: call.caller.user?.issuedAt, precondition: try ETag.precondition(request))
        let body = RegistrationBody(
            bytes: bytes, installID: key.installID, storesAdvertisingID: call.app.policy.storesAdvertisingID,
            topics: call.app.topics, webPushHosts: call.app.policy.webPushHosts, links: links)
        let digest = SentRegistration.digest(
            of: bytes, by: owner, keepingOwner: claim.keepsOwner, reading: body.rules, sha256: Self.sha256)
        let sent = SentRegistration(on: key, by: claim, mayHaveTopics: body.mayHaveTopics, digest: digest) {
            Registration(
                try body.read(), of: call.app, by: claim, reader: call.caller.isService ? .service : nil,
                actor: call.caller.actor, sha256: Self.sha256)
        }
        return (sent, call)
    }

    func authority(
        of request: ServerRequest, on installID: InstallID, in call: AppCall
    ) -> RegistrationClaim.Authority {
        guard call.caller.hasPublishableKey else { return .owner }
        return .publishableKey(deliveryProof(of: request, on: installID, in: call))
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        SHA256.hash(data: bytes).withUnsafeBytes { Array($0) }
    }

    private func register(
        _ sent: SentRegistration, ifDirectoryIs version: Int64?, in call: AppCall
    ) async throws -> ServerResponse {
        do {
            return response(try await installations.register(sent, ifDirectoryIs: version), to: sent, in: call)
        } catch RegistrationRefusal.owned {
            throw RefusedCall(.ownedInstallation, call.caller)
        }
    }

    private func response(
        _ outcome: RegistrationOutcome, to sent: SentRegistration, in call: AppCall
    ) -> ServerResponse {
        let names = EpochNames(of: outcome.epoch, on: sent.key.installID, in: call, epochKeys)
        var writer = JSONWriter(capacity: 384)
        writer.object { writer in
            writer.member("installId", sent.key.installID.rawValue)
            writer.member("generation", outcome.generation)
            writer.member("status", outcome.status.rawValue)
            writer.member("state", outcome.state.rawValue)
            // A delivery key does not tell who the owner is.
            writer.member("userId", sent.claim.owner?.userID.rawValue)
            let silence = call.app.policy.staleAfter[outcome.provider]
            writer.member("registerAgainBefore", outcome.lastSeenAt.advanced(by: silence).description)
            if let expired = outcome.expiredTokens { writer.member("expired", expired) }
            writer.member("epoch", names.epoch)
            writer.member("deliveryKey", names.deliveryKey.text)
        }
        return .json(
            writer, status: outcome.status == .created ? .created : .ok, fields: [.eTag: ETag.make(outcome.generation)])
    }
}
