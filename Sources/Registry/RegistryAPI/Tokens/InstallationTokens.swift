// PUT /v1/apps/{app}/installations/{installId}/tokens/{kind}/{name}
// DELETE /v1/apps/{app}/installations/{installId}/tokens/{kind}/{name}

import Crypto
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
            return .json(fields: [.eTag: ETag.make(outcome.generation)]) { writer in
                writer.member("installId", key.installID.rawValue)
                writer.member("generation", outcome.generation)
                writer.member("tokens", outcome.count)
            }
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

/// `{token, expiresAt?, environment?}`, the body of a call about one token.
enum TypedTokenBody {
    /// - Parameter now: the time by which `expiresAt` is checked for plausibility.
    /// - Returns: the token, and its environment if the body names one.
    /// - Throws: every fault of the body.
    static func read(
        _ body: [UInt8], as key: TypedTokenKey, now: Timestamp = .now()
    ) throws -> (SentTypedToken, environment: Provider?) {
        try JSONObject.read(body) { root in
            let (sent, environment) = root.typedToken(as: key, in: nil, now)
            return sent.map { ($0, environment) }
        }
    }
}

extension JSONObject {
    /// The member `tokens` of a registration; nil if it is absent, and after a fault.
    ///
    /// - Parameter provider: of the registration; nil after a fault.
    func typedTokens(of provider: Provider?, _ now: Timestamp = .now()) -> [SentTypedToken]? {
        guard let values = array("tokens", elementsMax: SentTypedToken.countMax) else { return nil }
        var keys: Set<TypedTokenKey> = []
        let tokens: [SentTypedToken] = values.compactMap { value in
            guard let item = value.object() else { return nil }
            let key = item.typedTokenKey()
            let (sent, _) = item.typedToken(as: key, in: provider, now)
            if let key, !keys.insert(key).inserted {
                value.refuse(.duplicateToken, "The same kind and name occur twice. Give each token a name of its own.")
            }
            return sent
        }
        if let provider, !provider.isApple, !values.isEmpty {
            refuse(member: "tokens", .wrongProvider, "Only apns and apnsSandbox have such tokens. Send [], or none.")
        }
        return tokens
    }

    private func typedTokenKey() -> TypedTokenKey? {
        let kind = value("kind", .required)?.parsedText(TokenKind.init(named:))
        let name = string("name", scalarsMax: Device.textScalarsMax)
        guard let kind, name != nil || value("name") == nil else { return nil }
        return parsed("name") { () throws(InvalidValue) in try TypedTokenKey(kind, name: name) }
    }

    /// The members `token`, `environment` and `expiresAt`. Both environments have the same form of tokens.
    ///
    /// - Parameters:
    ///   - key: nil after a fault.
    ///   - provider: of the environment that holds if the object names none; nil if it is not known.
    fileprivate func typedToken(
        as key: TypedTokenKey?, in provider: Provider?, _ now: Timestamp
    ) -> (SentTypedToken?, environment: Provider?) {
        let text = string("token", .required, scalarsMax: Token.charactersMax)
        let named = environment()
        let token = text.flatMap { text in
            parsed("token") { () throws(InvalidValue) in
                try Token(text, of: named ?? (provider?.isApple == true ? provider : nil) ?? .apns)
            }
        }
        let expiresAt = tokenExpiry(now)
        guard let key, let token else { return (nil, named) }
        let sent = SentTypedToken(
            key: key, token: token, sha256: Array(SHA256.hash(data: Array(token.text.utf8))), expiresAt: expiresAt)
        return (sent, named)
    }

    private func environment() -> Provider? {
        guard let value = value("environment"), let name = value.text() else { return nil }
        guard let provider = Provider(environment: name) else {
            value.refuse(.unknownEnvironment, "This must be production or sandbox.")
            return nil
        }
        return provider
    }

    private func tokenExpiry(_ now: Timestamp) -> Timestamp? {
        guard let value = value("expiresAt"), let text = value.text() else { return nil }
        guard let time = Timestamp(text) else {
            value.refuse(.invalidTime, "This must be an RFC 3339 time, such as 2026-11-27T21:00:00Z.")
            return nil
        }
        guard time <= now.advanced(by: SentTypedToken.expiryMax) else {
            value.refuse(.outOfRange, "This must be at most 400 days ahead.")
            return nil
        }
        return time
    }

    /// The member `kind` of typed tokens. Nil if it is absent, and after a fault.
    func tokenKind() -> TokenKind? {
        value("kind")?.parsedText(TokenKind.init(named:))
    }

    /// The member `name`, which is there. Nil after a fault.
    func tokenName(of kind: TokenKind) -> String? {
        value("name")?.parsedText { (text) throws(InvalidValue) in try TypedTokenKey(kind, name: text).name }
    }

    func refuseNameWithoutKind() {
        value("name")?.refuse(.required, "A name requires a kind.")
    }
}

extension TokenKind {
    /// - Throws: `InvalidValue` that lists the kinds.
    init(named name: String) throws(InvalidValue) {
        guard let kind = TokenKind(rawValue: name) else {
            let names = TokenKind.allCases.map(\.rawValue)
            throw InvalidValue(
                code: "unknown-token-kind",
                detail: "No kind of token has this name. " + NearestName.hint(for: name, among: names))
        }
        self = kind
    }
}

extension Provider {
    /// Nil for another name than `production` and `sandbox`.
    fileprivate init?(environment name: String) {
        switch name {
        case "production": self = .apns
        case "sandbox": self = .apnsSandbox
        default: return nil
        }
    }

    /// The environment of an APNs token, as the API names it.
    var environment: String { self == .apnsSandbox ? "sandbox" : "production" }
}

extension JSONWriter {
    /// The member `tokens`: an object for each typed token.
    ///
    /// - Parameter showsText: whether the tokens themselves are shown.
    mutating func typedTokens(_ tokens: [TypedToken], showingText showsText: Bool) {
        objects("tokens", tokens) { writer, token in
            writer.member("kind", token.key.kind.rawValue)
            writer.member("name", token.key.name.isEmpty ? nil : token.key.name)
            if showsText { writer.member("token", token.token.text) }
            writer.member("environment", token.token.provider.environment)
            writer.member("expiresAt", token.expiresAt?.description)
        }
    }
}

extension JSONFault.Code {
    static let duplicateToken = JSONFault.Code(rawValue: "duplicate-token")
    static let unknownEnvironment = JSONFault.Code(rawValue: "unknown-environment")
    static let wrongProvider = JSONFault.Code(rawValue: "wrong-provider")
}
