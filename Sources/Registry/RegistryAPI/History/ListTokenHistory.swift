// POST /v1/apps/{app}/tokens/history

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let tokenHistoryBytesMax = 64 * 1024

    /// A POST although it changes nothing: a token must not be part of a path (R14).
    var listTokenHistory: Route {
        appRoute(
            .post, "/v1/apps/{app}/tokens/history", allowing: [.service, .support],
            bodyBytesMax: Self.tokenHistoryBytesMax
        ) { request, call in
            let body = try request.jsonBody()
            let page = try PageRequest(request, ofEventsOf: call.app.number)
            let token = try await parsing(body.count) { try TokenBody.parse(body) }
            let address = TokenAddress(token, of: call.app.number)
            return .json(
                JSONWriter(try await events.events(of: address, before: page.after, limit: page.limit)))
        }
    }
}

/// `{token, provider}`.
private enum TokenBody {
    static func parse(_ body: [UInt8]) throws -> Token {
        let document = try JSONDocument(body)
        let token = document.root.object()?.token().token
        try document.check()
        guard let token else { throw StoreError.failed("a token query lacks a token and a fault") }
        return token
    }
}
