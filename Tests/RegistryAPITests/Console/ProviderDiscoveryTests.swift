import Basics
import Logging
import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("The identity provider's discovery document is fetched when it is needed, and not more often")
struct ProviderDiscoveryTests {
    private static let issuer = "https://login.example.com/tenant/"

    /// A provider whose document and clock a test sets.
    private final class Provider: IdentityProviderFetcher {
        private struct State {
            var document: String?
            var fetches = 0
            var now = ContinuousClock.now
        }

        private let state = Locked(State())

        var fetches: Int { state.withLock { $0.fetches } }
        var now: ContinuousClock.Instant { state.withLock { $0.now } }

        func advance(by duration: Duration) { state.withLock { $0.now += duration } }
        func set(_ document: String?) { state.withLock { $0.document = document } }

        func document(at url: KeySetURL) async throws(KeySetFailure) -> [UInt8] {
            #expect(url.text == "https://login.example.com/tenant/.well-known/openid-configuration")
            let document = state.withLock { state in
                state.fetches += 1
                return state.document
            }
            // Others ask meanwhile.
            await Task.yield()
            guard let document else { throw KeySetFailure(reason: "it fails") }
            return Array(document.utf8)
        }

        func document(
            at url: KeySetURL, posting form: [(name: String, value: String)],
            as client: (name: String, secret: String)?
        ) async throws(KeySetFailure) -> [UInt8] { throw KeySetFailure(reason: "this test posts nothing") }

        func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet {
            throw KeySetFailure(reason: "this test fetches no keys")
        }
    }

    private let provider = Provider()
    private let discovery: ProviderDiscovery

    init() throws {
        let settings = try IdentityProviderSettings(
            issuer: Self.issuer, clientID: "c", clientSecret: nil, groupsClaim: "groups", adminGroup: nil,
            scopes: "openid")
        let logger = Logger(label: "discovery") { _ in SwiftLogNoOpLogHandler() }
        discovery = ProviderDiscovery(settings, provider, logger: logger) { [provider] in provider.now }
    }

    private static func text(_ more: String = "", issuer: String = Self.issuer, token: String = "/token") -> String {
        let base = "https://login.example.com"
        return """
            {"issuer": "\(issuer)", "authorization_endpoint": "\(base)/authorize", \
            "token_endpoint": "\(base)\(token)", "jwks_uri": "\(base)/keys", "claims_supported": null\(more)}
            """
    }

    @Test func document_isFetchedOnce_forManySignIns_andAgainAfterAnHour() async throws {
        provider.set(Self.text())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { [discovery] in _ = try await discovery.current() } }
            try await group.waitForAll()
        }
        #expect(provider.fetches == 1)
        provider.set(Self.text(token: "/new"))
        provider.advance(by: ProviderKeys.refreshInterval - .seconds(1))
        #expect(try await discovery.current().tokenEndpoint.text.hasSuffix("/token"))
        provider.advance(by: .seconds(1))
        #expect(try await discovery.current().tokenEndpoint.text.hasSuffix("/new"))
        #expect(provider.fetches == 2)
    }

    @Test func failure_isRepeatedAfterAPause_andTheLastDocumentServesForADay() async throws {
        for _ in 1...3 { await #expect(throws: KeySetFailure.self) { try await discovery.current() } }
        #expect(provider.fetches == 1)
        provider.set(Self.text())
        provider.advance(by: ProviderKeys.pause)
        _ = try await discovery.current()
        provider.set(nil)
        provider.advance(by: ProviderKeys.lifetime - .seconds(1))
        for _ in 1...3 { _ = try await discovery.current() }
        #expect(provider.fetches == 3)
        provider.advance(by: .seconds(1))
        await #expect(throws: KeySetFailure.self) { try await discovery.current() }
    }

    @Test func document_saysHowToAuthenticate_andWhetherResponsesNameTheIssuer() throws {
        func metadata(_ more: String) throws -> ProviderMetadata {
            try ProviderMetadata(Array(Self.text(more).utf8), issuer: Self.issuer)
        }
        let standard = try metadata("")
        #expect(!standard.takesSecretInBody && !standard.namesIssuer)
        let methods = #", "token_endpoint_auth_methods_supported": "#
        #expect(try !metadata(methods + #"["client_secret_post", "client_secret_basic"]"#).takesSecretInBody)
        #expect(try metadata(methods + #"["client_secret_post"]"#).takesSecretInBody)
        #expect(try metadata(#", "authorization_response_iss_parameter_supported": true"#).namesIssuer)
    }

    @Test(arguments: [
        "", "[]", "{}", text(issuer: "https://login.example.com/tenant"),
        text(issuer: "https://LOGIN.example.com/tenant/"),
        text(token: "#fragment"),
        text().replacing("https://login.example.com/keys", with: "http://login.example.com/keys"),
        text().replacing("https://login.example.com/authorize", with: "javascript:alert(1)"),
    ])
    func document_isRefused_ifItIsIncomplete_orOfAnotherIssuer(text: String) {
        #expect(throws: KeySetFailure.self) { try ProviderMetadata(Array(text.utf8), issuer: Self.issuer) }
    }
}

@Suite("A sign-in that has begun is kept in the browser alone")
struct SignInAttemptTests {
    private let start = Timestamp(microseconds: 1_795_262_400_000_000)

    /// The attempt of the cookie that a browser got, some minutes later.
    private func returning(_ attempt: SignInAttempt, minutes: Int64) -> SignInAttempt? {
        let value = attempt.field.prefix { $0 != ";" }.drop { $0 != "=" }.dropFirst()
        return SignInAttempt(cookie: String(value), at: start.advanced(by: ISO8601Duration(seconds: minutes * 60)))
    }

    @Test func attempt_isTheSame_forTenMinutes() throws {
        let attempt = SignInAttempt(at: start)
        let back = try #require(returning(attempt, minutes: 9))
        #expect(back.hasState(attempt.state) && back.nonce == attempt.nonce && back.verifier == attempt.verifier)
        #expect(back.sha256 == attempt.sha256)
        #expect(returning(attempt, minutes: 10) == nil)
    }

    @Test func values_differ_andRevealNothing() {
        let (one, other) = (SignInAttempt(at: start), SignInAttempt(at: start))
        let values = [one, other].flatMap { [$0.state, $0.nonce, $0.verifier, $0.challenge] }
        #expect(Set(values).count == 8 && values.allSatisfy { $0.utf8.count == 43 })
        #expect(!one.hasState(other.state) && !one.hasState(one.nonce) && !one.hasState(""))
        #expect("\(one)" == "‹sign-in›")
    }
}
