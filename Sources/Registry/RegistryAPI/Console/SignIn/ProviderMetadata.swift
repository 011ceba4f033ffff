import Basics
import Logging
import PushRegistry
import StrictJSON

/// What an identity provider says about itself (OpenID Connect Discovery 1.0, section 3).
struct ProviderMetadata: Sendable {
    let authorizationEndpoint: KeySetURL
    let tokenEndpoint: KeySetURL
    let keySet: KeySetURL
    /// Whether every authorization response has `iss` (RFC 9207).
    let namesIssuer: Bool
    /// Whether the token endpoint takes the client's secret in the body only, not by Basic authentication.
    let takesSecretInBody: Bool

    /// - Throws: if the document is of another issuer, or lacks something.
    init(_ text: [UInt8], issuer: String) throws(KeySetFailure) {
        guard let document = try? JSONDocument(text), let root = document.root.object() else {
            throw KeySetFailure(reason: "the discovery document is not a JSON object")
        }
        let named = root.string("issuer", scalarsMax: KeySetURL.bytesMax).map { ExactText($0) }
        guard named == ExactText(issuer) else {
            throw KeySetFailure(reason: "the discovery document is of another issuer")
        }
        authorizationEndpoint = try Self.url(root, "authorization_endpoint")
        tokenEndpoint = try Self.url(root, "token_endpoint")
        keySet = try Self.url(root, "jwks_uri")
        namesIssuer = root.boolean("authorization_response_iss_parameter_supported") ?? false
        let methods = root.strings(
            "token_endpoint_auth_methods_supported", elementsMax: 100, scalarsMax: Device.textScalarsMax)
        takesSecretInBody =
            methods.map { !$0.contains("client_secret_basic") && $0.contains("client_secret_post") } ?? false
    }

    private static func url(_ root: JSONObject, _ name: StaticString) throws(KeySetFailure) -> KeySetURL {
        guard let text = root.string(name, scalarsMax: KeySetURL.bytesMax), let url = try? KeySetURL(text) else {
            throw KeySetFailure(reason: "\(name) of the discovery document must be an https URL")
        }
        return url
    }
}

/// The metadata of the console's identity provider. They are fetched when a sign-in needs them, and are used as long as
/// keys are (`ProviderKeys`). Who begins sign-ins again and again must not occupy a thread each time.
actor ProviderDiscovery {
    private let settings: IdentityProviderSettings
    private let fetcher: any IdentityProviderFetcher
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private var known: (metadata: ProviderMetadata, at: ContinuousClock.Instant)?
    private var failure: (reason: KeySetFailure, at: ContinuousClock.Instant)?
    private var fetching: Task<Void, Never>?

    init(
        _ settings: IdentityProviderSettings, _ fetcher: any IdentityProviderFetcher, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        (self.settings, self.fetcher, self.logger, self.now) = (settings, fetcher, logger, now)
    }

    func current() async throws(KeySetFailure) -> ProviderMetadata {
        let now = now()
        let isPausing = failure.map { now - $0.at < ProviderKeys.pause } ?? false
        if !isPausing, known.map({ now - $0.at >= ProviderKeys.refreshInterval }) ?? true {
            // A caller that goes away must not end the fetch of the others.
            let task = fetching ?? Task { await fetch() }
            fetching = task
            await task.value
        }
        if let known, now - known.at < ProviderKeys.lifetime { return known.metadata }
        throw failure?.reason ?? KeySetFailure(reason: "the discovery document is not fetched yet")
    }

    private func fetch() async {
        do throws(KeySetFailure) {
            let text = try await fetcher.document(at: settings.discoveryURL)
            known = (try ProviderMetadata(text, issuer: settings.issuer), now())
            failure = nil
        } catch {
            failure = (error, now())
            logger.warning(
                "people cannot sign in to the console: the identity provider fails",
                metadata: ["issuer": "\(settings.issuer)", "reason": "\(error.reason)"])
        }
        fetching = nil
    }
}
