// PUT /v1/apps/{app}/installations/{installId}

import Crypto
import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    static let installationPattern = "/v1/apps/{app}/installations/{installId}"

    var putInstallation: Route {
        Route(.put, Self.installationPattern, bodyBytesMax: bodyLimits.registrationBytesMax) { request in
            let call = try await appCall(request, allowing: [.client, .service])
            try call.caller.checkNaming(in: request)
            let body = try request.jsonBody()
            let owner = try Owner(request, by: call.caller)
            let registration = Registration(
                try RegistrationBody.parse(
                    body, installID: InstallID(request), storesAdvertisingID: call.app.policy.storesAdvertisingID,
                    links: links),
                of: call.app, owner: owner, credentialIssuedAt: call.caller.user?.issuedAt,
                precondition: try ETag.precondition(request), reader: call.caller.isService ? .service : nil,
                actor: call.caller.actor,
                sha256: { Array(SHA256.hash(data: $0)) })
            let outcome = try await store.register(registration)
            return response(outcome, to: registration, of: call.app)
        }
    }

    private func response(
        _ outcome: RegistrationOutcome, to registration: Registration, of app: App
    ) -> ServerResponse {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.member("installId", registration.key.installID.rawValue)
            writer.member("generation", outcome.generation)
            writer.member("status", outcome.status.rawValue)
            writer.member("state", outcome.state.rawValue)
            writer.member("userId", outcome.userID?.rawValue)
            let silence = app.policy.staleAfter[registration.token.provider]
            writer.member("registerAgainBefore", outcome.lastSeenAt.advanced(by: silence).description)
        }
        return .json(
            writer, status: outcome.status == .created ? .created : .ok, fields: [.eTag: ETag.make(outcome.generation)])
    }
}

extension ServerResponse {
    static func json(
        _ writer: JSONWriter, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]
    ) -> ServerResponse {
        var fields = fields
        fields[.contentType] = "application/json"
        return ServerResponse(status, fields: fields, body: .bytes(writer.bytes))
    }
}
