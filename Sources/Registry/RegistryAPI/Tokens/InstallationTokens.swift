// PUT /v1/apps/{app}/installations/{installId}/tokens/{kind}/{name}
// DELETE /v1/apps/{app}/installations/{installId}/tokens/{kind}/{name}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let typedTokenPattern = installationPattern + "/tokens/{kind}/{name}"

    private static let typedTokenBytesMax = 8 * 1024

    /// Adds or replaces one typed token.
    var putTypedToken: Route {
        appRoute(
            .put, Self.typedTokenPattern, allowing: [.client, .service], bodyBytesMax: Self.typedTokenBytesMax
        ) { request, call in
            let body = try request.jsonBody()
            let (key, requester) = try installation(of: request, in: call)
            let (sent, environment) = try TypedTokenBody.read(body, as: try TypedTokenKey(request))
            let outcome = try await change(
                .put(sent, environment: environment), on: key, for: requester, request, in: call)
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("installId", key.installID.rawValue)
                writer.member("generation", outcome.generation)
                writer.member("tokens", outcome.count)
            }
            return .json(writer, fields: [.eTag: ETag.make(outcome.generation)])
        }
    }

    /// Removes one typed token, if it is there.
    var deleteTypedToken: Route {
        appRoute(.delete, Self.typedTokenPattern, allowing: [.client, .service]) { request, call in
            let (key, requester) = try installation(of: request, in: call)
            _ = try await change(.remove(try TypedTokenKey(request)), on: key, for: requester, request, in: call)
            return ServerResponse(.noContent)
        }
    }

    private func change(
        _ action: TypedTokenChange.Action, on key: InstallationKey, for requester: Requester, _ request: ServerRequest,
        in call: AppCall
    ) async throws -> TypedTokenOutcome {
        let precondition = try ETag.precondition(request)
        try await checkCredential(of: call, on: key)
        do {
            return try await installations.change(
                TypedTokenChange(
                    action, on: key, of: call.app, for: requester,
                    by: authority(of: request, on: key.installID, in: call), credential: call.caller.credential,
                    precondition: precondition, actor: call.caller.actor))
        } catch TypedTokenRefusal.owned {
            throw RefusedCall(.ownedInstallation, call.caller)
        } catch TypedTokenRefusal.credentialEnded {
            throw RefusedCall(.endedCredential, call.caller)
        }
    }
}

extension TypedTokenKey {
    /// The kind and the name of the path; `-` is no name.
    ///
    /// - Throws: 400 for an unknown kind and for an invalid name.
    fileprivate init(_ request: ServerRequest) throws(APIError) {
        let kind = try request.identifier("kind") { (text) throws(InvalidValue) in try TokenKind(named: text) }
        self = try request.identifier("name") { (text) throws(InvalidValue) in
            try TypedTokenKey(kind, name: text == "-" ? nil : text)
        }
    }
}
