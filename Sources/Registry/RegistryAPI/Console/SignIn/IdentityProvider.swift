import Basics
import Logging
import PushRegistry
import StrictJSON

/// The identity provider by which people sign in to the console (OpenID Connect Core 1.0).
public struct IdentityProviderSettings: Sendable {
    /// Compared exactly with that of the provider.
    public let issuer: String
    let discoveryURL: KeySetURL
    let clientID: String
    /// Nil: a public client, which PKCE alone protects.
    let clientSecret: String?
    /// The claim of the ID token with the groups of the person.
    let groupsClaim: String
    /// The group whose members have the rights of the admin key; nil: none.
    let adminGroup: ExactText?
    /// With spaces between them.
    let scopes: String

    /// - Throws: `InvalidValue` for an issuer that is no https URL without query, or http of this machine.
    public init(
        issuer: String, clientID: String, clientSecret: String?, groupsClaim: String, adminGroup: String?,
        scopes: String
    ) throws(InvalidValue) {
        // Discovery, section 4: a slash at the end is left out.
        let base = issuer.hasSuffix("/") ? issuer.dropLast() : Substring(issuer)
        discoveryURL = try KeySetURL("\(base)/.well-known/openid-configuration")
        guard !issuer.contains("?") else {
            throw InvalidValue(code: "invalid-url", detail: "An issuer has no query.")
        }
        (self.issuer, self.clientID, self.clientSecret) = (issuer, clientID, clientSecret)
        (self.groupsClaim, self.scopes) = (groupsClaim, scopes)
        self.adminGroup = adminGroup.map { ExactText($0) }
    }

    func isServerAdmin(_ person: ConsolePerson) -> Bool { adminGroup.map(person.groups.contains) ?? false }
}

/// Calls the console's identity provider. It must not block the caller's event loop, and returns or throws within
/// seconds.
public protocol IdentityProviderFetcher: KeySetFetcher {
    /// - Throws: `KeySetFailure`, also for a status other than 200.
    func document(at url: KeySetURL) async throws(KeySetFailure) -> [UInt8]

    /// Posts a form.
    ///
    /// - Parameter client: the name and secret for Basic authentication; nil: none.
    func document(
        at url: KeySetURL, posting form: [(name: String, value: String)], as client: (name: String, secret: String)?
    ) async throws(KeySetFailure) -> [UInt8]
}

/// A sign-in by the identity provider that failed.
struct SignInFailure: Error {
    /// What the page says about it.
    enum Notice: String {
        case denied, failed, unavailable
        case noRole = "no-role"
        case tooMany = "too-many"
    }

    let notice: Notice
    /// For the operator. It contains no part of a credential.
    let reason: String

    init(_ notice: Notice, _ reason: String) {
        (self.notice, self.reason) = (notice, reason)
    }
}

/// Signs people in by the identity provider, with code and PKCE. All event loops share it.
public final class IdentityProvider: Sendable {
    /// Concurrent calls of the token endpoint. Each occupies a thread, for seconds if the provider does not respond.
    private static let exchangesMax = 8
    /// Enough for some hundreds of groups.
    private static let tokenBytesMax = 64 * 1024

    let settings: IdentityProviderSettings
    private let fetcher: any IdentityProviderFetcher
    private let discovery: ProviderDiscovery
    private let keySets: ProviderKeySets
    private let exchanges = Locked(0)

    /// - Parameter now: the time since which metadata and keys were fetched.
    public init(
        _ settings: IdentityProviderSettings, _ fetcher: any IdentityProviderFetcher, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        (self.settings, self.fetcher) = (settings, fetcher)
        discovery = ProviderDiscovery(settings, fetcher, logger: logger, now: now)
        keySets = ProviderKeySets(fetcher, logger: logger, now: now)
    }

    /// Fetches the provider's keys when they are needed, until it is cancelled.
    public func run() async { await keySets.run() }

    private var metadata: ProviderMetadata {
        get async throws(SignInFailure) {
            do throws(KeySetFailure) { return try await discovery.current() } catch {
                throw SignInFailure(.unavailable, error.reason)
            }
        }
    }

    /// Where a browser begins an attempt.
    ///
    /// - Parameter callback: where the provider leads the browser back.
    func address(of attempt: SignInAttempt, callback: String) async throws(SignInFailure) -> String {
        let endpoint = try await metadata.authorizationEndpoint.text
        let query = FormEncoding.text(of: [
            ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", callback),
            ("scope", settings.scopes), ("state", attempt.state), ("nonce", attempt.nonce),
            ("code_challenge", attempt.challenge), ("code_challenge_method", "S256"),
        ])
        return endpoint + (endpoint.contains("?") ? "&" : "?") + query
    }

    /// The person whom the provider's response names.
    ///
    /// - Parameter response: the parameters of the authorization response.
    func person(
        _ response: [String: String], to attempt: SignInAttempt, callback: String, at now: Timestamp
    ) async throws(SignInFailure) -> ConsolePerson {
        let metadata = try await self.metadata
        // RFC 9207: the response of another provider must not lead to its code being sent to this one.
        let issuer = response["iss"].map { ExactText($0) }
        guard issuer == ExactText(settings.issuer) || (issuer == nil && !metadata.namesIssuer) else {
            throw SignInFailure(.failed, "the response is of another issuer")
        }
        if let error = response["error"] {
            let isDenied = error == "access_denied"
            throw SignInFailure(isDenied ? .denied : .failed, "the provider reports \(Self.known(error))")
        }
        guard let code = response["code"] else { throw SignInFailure(.failed, "the response has no code") }
        let token = try await token(code, attempt, callback, metadata)
        let user = try await verified(token, metadata, at: now)
        guard user.issuedAt != nil else { throw SignInFailure(.failed, "the ID token has no iat") }
        return try IDToken(token, bytesMax: Self.tokenBytesMax)
            .person(user.owner.userID, nonce: attempt.nonce, settings)
    }

    /// A code of RFC 6749 or OpenID Connect, as it is; anything else is a stranger's text.
    private static func known(_ error: String) -> String {
        error.utf8.count <= 64 && error.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
            ? error : "an error"
    }

    /// Exchanges a code for an ID token.
    private func token(
        _ code: String, _ attempt: SignInAttempt, _ callback: String, _ metadata: ProviderMetadata
    ) async throws(SignInFailure) -> String {
        let isAdmitted = exchanges.withLock { count in
            guard count < Self.exchangesMax else { return false }
            count += 1
            return true
        }
        guard isAdmitted else { throw SignInFailure(.tooMany, "too many people sign in at once") }
        defer { exchanges.withLock { $0 -= 1 } }
        var form: [(name: String, value: String)] = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", callback),
            ("code_verifier", attempt.verifier),
        ]
        var client: (name: String, secret: String)?
        if let secret = settings.clientSecret, !metadata.takesSecretInBody {
            client = (settings.clientID, secret)
        } else {
            form.append(("client_id", settings.clientID))
            if let secret = settings.clientSecret { form.append(("client_secret", secret)) }
        }
        let response: [UInt8]
        do throws(KeySetFailure) {
            response = try await fetcher.document(at: metadata.tokenEndpoint, posting: form, as: client)
        } catch {
            throw SignInFailure(.failed, "the token endpoint: \(error.reason)")
        }
        guard let document = try? JSONDocument(response),
            let token = document.root.object()?.string("id_token", scalarsMax: Self.tokenBytesMax)
        else { throw SignInFailure(.failed, "the token endpoint returns no ID token") }
        return token
    }

    /// Verifies an ID token as JWTs of users are: by an app whose policy trusts the provider alone. Signature, `iss`,
    /// `aud`, `exp` and `iat`.
    private func verified(
        _ token: String, _ metadata: ProviderMetadata, at now: Timestamp
    ) async throws(SignInFailure) -> UserToken {
        do {
            var draft = AppPolicy.Draft()
            draft.jwksURL = metadata.keySet
            (draft.jwtIssuer, draft.jwtAudience) = (ExactText(settings.issuer), ExactText(settings.clientID))
            let app = App(number: AppNumber(0), id: try AppID("console"), policy: try AppPolicy(draft))
            return try await keySets.fetchingMissingKey {
                let keys = UserTokenKeys(nil, and: keySets.current(of: app)?.keys ?? [])
                let verifier = UserTokenVerifier(keys: keys, policy: app.policy, bytesMax: Self.tokenBytesMax)
                do throws(UserTokenFault) { return try verifier.verify(token, at: now) } catch {
                    if verifier.mayNeedAnotherKey(token, refusedFor: error) { throw MissingKey(app: app, fault: error) }
                    throw error
                }
            }
        } catch let fault as UserTokenFault {
            throw SignInFailure(.failed, "the ID token: \(fault.rawValue)")
        } catch let missing as MissingKey {
            throw SignInFailure(.failed, "the ID token: \(missing.fault.rawValue)")
        } catch APIError.invalidUserToken(let fault) {
            throw SignInFailure(.failed, "the ID token: \(fault.rawValue)")
        } catch {
            throw SignInFailure(.unavailable, "the provider's keys cannot be fetched")
        }
    }
}

/// An ID token whose signature and times have been verified.
private struct IDToken {
    private let payload: [UInt8]

    init(_ token: String, bytesMax: Int) throws(SignInFailure) {
        do throws(UserTokenFault) { payload = try UserTokenParts(token, bytesMax: bytesMax).payload } catch {
            throw SignInFailure(.failed, "the ID token: \(error.rawValue)")
        }
    }

    /// Checks that the token is for this attempt and this client.
    func person(
        _ subject: UserID, nonce: String, _ settings: IdentityProviderSettings
    ) throws(SignInFailure) -> ConsolePerson {
        guard let document = try? JSONDocument(payload), let claims = document.root.object(),
            let audiences = try? UserClaims(payload, sessionExpiryClaim: nil).audiences
        else { throw SignInFailure(.failed, "the ID token: malformedClaims") }
        func text(_ name: StaticString) -> String? { claims.string(name, scalarsMax: Device.textScalarsMax) }
        guard text("nonce") == nonce else { throw SignInFailure(.failed, "the ID token: wrongNonce") }
        let party = text("azp").map { ExactText($0) }
        guard party == ExactText(settings.clientID) || (party == nil && audiences.count == 1) else {
            throw SignInFailure(.failed, "the ID token: wrongAuthorizedParty")
        }
        let groups = Self.groups(claims.value(named: Array(settings.groupsClaim.utf8)))
        guard document.faults.isEmpty else {
            throw SignInFailure(.failed, "the ID token: \(settings.groupsClaim) is no list of names, or is too long")
        }
        // A name that is too long is as none.
        let name = [text("name"), text("preferred_username"), text("email")].compactMap(\.self).first { !$0.isEmpty }
        return ConsolePerson(
            issuer: settings.issuer, subject: subject.rawValue, name: name ?? subject.rawValue,
            groups: groups.map { ExactText($0) })
    }

    /// Some providers send a single group as a text.
    private static func groups(_ value: JSONValue?) -> [String] {
        guard let value, value.kind != .null else { return [] }
        let scalarsMax = ConsolePerson.groupScalarsMax
        if value.kind == .string { return value.string(scalarsMax: scalarsMax).map { [$0] } ?? [] }
        let elements = value.array(elementsMax: ConsolePerson.groupsMax)
        return elements?.compactMap { $0.string(scalarsMax: scalarsMax) } ?? []
    }
}
